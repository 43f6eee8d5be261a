// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

// GET_BROKER_RUNTIME_INFO (28): how the broker is, as names and texts. The names are RocketMQ's; what Goddard has not (a
// pool of buffers, a timer wheel, thread pools for acks and transactions) is shown as idle.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/delay"
	"github.com/goddard-mq/goddard/internal/broker/stats"
	"github.com/goddard-mq/goddard/internal/config"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/remoting"
	"github.com/goddard-mq/goddard/internal/router"
	"github.com/goddard-mq/goddard/internal/store"
)

// The parts that are asked.
type (
	runtimeStore interface {
		Info() store.Info
		QueueRange(topic string, queueID int32) (min, max int64)
	}
	runtimeStats interface {
		Days() stats.DayTotals
		Rates() stats.Rates
	}
	runtimeDelay interface{ Offset(level int) int64 }
)

// runtimeHandler serves 28, on the admin lane.
type runtimeHandler struct {
	cfg     *config.Live[Config]
	store   runtimeStore
	stats   runtimeStats
	delay   runtimeDelay
	levels  func() delay.Levels
	lanes   *lanes
	started time.Time
}

// unusedCapacity is what RocketMQ shows for thread pools that nothing waits for here.
const unusedCapacity = 100_000

func (h *runtimeHandler) serve(*remoting.Exchange) (*remoting.Command, error) {
	cfg, info := h.cfg.Load(), h.store.Info()
	t := table{}
	t.text("brokerVersionDesc", protocol.VersionName(protocol.CurrentVersion))
	t.text("brokerActive", strconv.FormatBool(cfg.Identity.ID == protocol.MasterID))
	t.number("bootTimestamp", h.started.UnixMilli())
	t.text("runtime", runtimeText(time.Since(h.started)))
	t.number("startAcceptSendRequestTimeStamp", cfg.Identity.Accept)
	h.days(t)
	h.rates(t)
	puts(t, &info)
	disk(t, cfg, &info)
	h.waiting(t)
	h.delays(t)
	return jsonAnswer(protocol.KVTable{Table: t}), nil
}

// table is names and texts.
type table map[string]string

func (t table) text(key, value string)         { t[key] = value }
func (t table) number(key string, value int64) { t[key] = strconv.FormatInt(value, 10) }

func runtimeText(d time.Duration) string {
	s := int64(d / time.Second)
	return fmt.Sprintf("[ %d days, %d hours, %d minutes, %d seconds ]", s/86400, s/3600%24, s/60%60, s%60)
}

func (h *runtimeHandler) days(t table) {
	d := h.stats.Days()
	t.number("msgPutTotalYesterdayMorning", d.PutYesterday)
	t.number("msgPutTotalTodayMorning", d.PutToday)
	t.number("msgPutTotalTodayNow", d.PutNow)
	t.number("msgGetTotalYesterdayMorning", d.GetYesterday)
	t.number("msgGetTotalTodayMorning", d.GetToday)
	t.number("msgGetTotalTodayNow", d.GetNow)
}

func (h *runtimeHandler) rates(t table) {
	r := h.stats.Rates()
	t.text("putTps", r.Put)
	t.text("getFoundTps", r.Found)
	t.text("getMissTps", r.Miss)
	t.text("getTotalTps", r.Get)
	t.text("getTransferredTps", r.Transferred)
}

// putTimeNames are the upper ends of the buckets of put times.
var putTimeNames = [...]string{
	"<=0ms", "0~10ms", "10~50ms", "50~100ms", "100~200ms", "200~500ms", "500ms~1s", "1~2s", "2~3s", "3~4s", "4~5s", "5~10s", "10s~",
}

var putTimeEnds = [len(putTimeNames)]float64{0, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000, 10_000} // ms

func puts(t table, info *store.Info) {
	t.number("putMessageEntireTimeMax", info.PutMax.Milliseconds())
	t.number("getMessageEntireTimeMax", info.GetMax.Milliseconds())
	t.number("putMessageTimesTotal", max(info.Appended, 1))
	t.number("putMessageFailedTimes", info.Failed)
	t.number("putMessageSizeTotal", info.AppendedBytes)
	t.text("putMessageAverageSize", strconv.FormatFloat(float64(info.AppendedBytes)/float64(max(info.Appended, 1)), 'f', 1, 64))
	var text []byte
	for i, name := range putTimeNames {
		text = fmt.Appendf(text, "[%s]:%d ", name, info.PutTimes[i])
	}
	t.text("putMessageDistributeTime", string(text))
	t.text("putLatency99", percentile(info, 0.99))
	t.text("putLatency999", percentile(info, 0.999))
	t.number("dispatchMaxBuffer", 0)
	t.number("dispatchBehindBytes", info.DispatchBehind)
	t.number("pageCacheLockTimeMills", info.LockHeld.Milliseconds())
	t.number("earliestMessageTimeStamp", info.EarliestTimestamp)
	t.number("commitLogMinOffset", info.LogMin)
	t.number("commitLogMaxOffset", info.LogMax)
}

// percentile gives the end of the bucket of put times in which a part of all puts has ended, ms.
func percentile(info *store.Info, part float64) string {
	var all, seen int64
	for _, n := range info.PutTimes {
		all += n
	}
	end := 0.0
	for i, n := range info.PutTimes {
		if float64(seen) >= part*float64(all) {
			break
		}
		seen += n
		if n > 0 {
			end = putTimeEnds[i]
		}
	}
	return strconv.FormatFloat(end, 'f', 2, 64)
}

func disk(t table, cfg *Config, info *store.Info) {
	ratio := func(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }
	t.text("commitLogDiskRatio", ratio(info.DiskUsedRatio))
	path := cfg.Store.CommitLogDir
	if path == "" {
		path = filepath.Join(cfg.Store.Root, "commitlog")
	}
	t.text("commitLogDiskRatio_"+path, ratio(info.DiskUsedRatio))
	t.text("consumeQueueDiskRatio", ratio(info.QueueDiskUsedRatio))
	t.text("commitLogDirCapacity", fmt.Sprintf("Total : %s, Free : %s.", sizeText(info.DiskTotal), sizeText(info.DiskFree)))
	t.text("remainHowManyDataToFlush", sizeText(max(info.LogMax-info.Flushed, 0)))
	t.number("remainTransientStoreBufferNumbs", 1<<31-1)
}

// sizeText gives bytes for people: 798 B, 1.2 KiB, 98.3 GiB.
func sizeText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1024 && unit < 5 {
		f, unit = f/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[unit])
}

// waiting shows what waits in the lanes under the names of RocketMQ's thread pools.
func (h *runtimeHandler) waiting(t table) {
	for name, l := range map[string]*router.Lane{"send": h.lanes.send, "pull": h.lanes.pull, "litePull": h.lanes.pull, "query": h.lanes.query, "ack": nil} {
		size, capacity, head := 0, unusedCapacity, time.Duration(0)
		if l != nil {
			size, capacity, head = l.Size(), l.Capacity(), l.HeadWait()
		}
		t.number(name+"ThreadPoolQueueSize", int64(size))
		t.number(name+"ThreadPoolQueueCapacity", int64(capacity))
		t.number(name+"ThreadPoolQueueHeadWaitTimeMills", head.Milliseconds())
	}
	t.number("EndTransactionQueueSize", 0)
	t.number("EndTransactionThreadPoolQueueCapacity", unusedCapacity)
}

// delays shows, for each delay level in use, the offset that is delivered next and the end of its queue.
func (h *runtimeHandler) delays(t table) {
	for level := 1; level <= h.levels().Max(); level++ {
		_, end := h.store.QueueRange(protocol.TopicSchedule, int32(level-1))
		if at := h.delay.Offset(level); at > 0 || end > 0 {
			t.text(fmt.Sprintf("scheduleMessageOffset_%d", level), fmt.Sprintf("%d,%d", at, end))
		}
	}
	t.number("timerReadBehind", 0)
	t.number("timerOffsetBehind", 0)
	t.number("timerCongestNum", 0)
	t.text("timerEnqueueTps", "0.0")
	t.text("timerDequeueTps", "0.0")
}
