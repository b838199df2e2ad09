package doctor

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"redline/internal/judge/validity"
)

// clockSync asks the kernel whether something keeps its clock.
func clockSync() *validity.Sync {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return nil
	}
	return &validity.Sync{Kept: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, MaxError: int64(t.Maxerror) * 1000}
}

// askDriver reads what the driver says about the interface.
func askDriver(i *validity.Interface) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	coalesce := coalescing{cmd: unix.ETHTOOL_GCOALESCE}
	if ethtool(fd, i.Name, unsafe.Pointer(&coalesce)) {
		i.RxUsecs, i.Adaptive = &coalesce.rxUsecs, new(coalesce.adaptiveRx != 0)
	}
	gro := setting{cmd: unix.ETHTOOL_GGRO}
	if ethtool(fd, i.Name, unsafe.Pointer(&gro)) {
		i.GRO = new(gro.value != 0)
	}
}

// coalescing is the kernel's struct ethtool_coalesce, as far as it is read.
type coalescing struct {
	cmd        uint32
	rxUsecs    uint32
	_          [8]uint32
	adaptiveRx uint32
	_          [12]uint32
}

// setting is the kernel's struct ethtool_value.
type setting struct{ cmd, value uint32 }

// ethtool asks the driver of an interface, and reports whether it answered.
func ethtool(fd int, name string, data unsafe.Pointer) bool {
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // the kernel copies as much as its largest variant
	}
	if len(name) >= len(request.name) {
		return false
	}
	copy(request.name[:], name)
	request.data = data
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	return errno == 0
}
