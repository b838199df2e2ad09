package sim
import ("testing";"bytes";"time";"sync";"sort";"fmt";"os";"strconv")
func TestZZ(t *testing.T){
 n,_:=strconv.Atoi(os.Getenv("N")); if n==0 {t.Skip()}
 pace:=20*time.Millisecond
 for rep:=0;rep<3;rep++{
 var log bytes.Buffer
 o:=ServeOptions{Pace:pace,Truth:&log}
 r,err:=Start(t.Context(),Spec{},o); if err!=nil{t.Fatal(err)}
 var wg sync.WaitGroup
 for i:=0;i<n;i++{ wg.Go(func(){ if err:=readStream(r.addr.String(),150);err!=nil{t.Error(err)} }); time.Sleep(pace/time.Duration(n)) }
 wg.Wait()
 late:=r.Lateness()
 r.Close()
 var dev []int64
 for _,l:=range readTruth(t,&log){ // best-fit: due_i = min over i of (before_i - i*pace) 
   best:=int64(1<<62); for i,b:=range l.Before{ if d:=b-int64(i)*int64(pace); d<best{best=d} }
   for i,b:=range l.Before{ dev=append(dev,b-int64(i)*int64(pace)-best) } }
 sort.Slice(dev,func(i,j int)bool{return dev[i]<dev[j]})
 q:=func(p float64) time.Duration{return time.Duration(dev[int(p*float64(len(dev)-1))])}
 fmt.Println(len(dev),"p50",q(.5),"p90",q(.9),"p99",q(.99),"max",q(1),"wake",late)
 }
}
