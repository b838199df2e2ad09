// Package twin is the simulator fitted to measurements, and fleets of it in
// virtual time. It takes run directories and gives the constants of an engine
// that reproduces them, with how well it does; and it takes such an engine,
// lengths and arrival times, and gives what users of one or several of them
// would see. It sends nothing and reads no clock.
package twin
