// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/goddard-mq/goddard/internal/broker/delay"
	"github.com/goddard-mq/goddard/internal/broker/group"
	"github.com/goddard-mq/goddard/internal/protocol"
	"github.com/goddard-mq/goddard/internal/store"
)

// DefaultPort is the main port of a broker that is not told one (RocketMQ's broker script).
const DefaultPort = 10911

// DefaultConfig gives RocketMQ's defaults, with the store's own (which differ in the flush).
func DefaultConfig() Config {
	return Config{
		Identity: IdentityConfig{
			Cluster: "DefaultCluster", Name: hostName(), Bind: "0.0.0.0", Port: DefaultPort,
			Perm: protocol.PermReadWrite, RegionID: "DefaultRegion", TraceOn: true,
		},
		Names: NameServerConfig{
			Period: 30 * time.Second, Timeout: 24 * time.Second, ForceRegister: true, NotActive: 10 * time.Second,
		},
		Topics: TopicConfig{
			AutoCreate: true, DefaultQueues: 8, ClusterTopic: true, BrokerTopic: true, TraceTopicName: protocol.TopicTrace,
			ReviveQueues: 8, TimerWheel: true, ValidateSystem: true, ClearRetryOnDelete: true,
			SplitMetadata: true, SplitMetadataSize: 2000,
		},
		Groups: GroupConfig{
			AutoCreate: true, CreateSystem: true, NotifyChange: true, RealTimeNotify: true, ServerSideReset: true,
			LockLife: group.LockLife,
			Check:    CheckConfig{Every: 10 * time.Second, Unconsumed: 2 * time.Minute, Stuck: 5 * time.Minute},
		},
		Send: SendConfig{StoreReplies: true, BusyAfter: time.Second, DelayLevels: delay.DefaultLevels, DelayStats: true, DetailStats: true},
		Pull: PullConfig{
			LongPolling: true, ShortPolling: time.Second, LitePull: true, QueryMax: 32,
		},
		Filter: FilterConfig{Keep: 24 * time.Hour, BloomErrors: 20, BloomGroups: 32},
		Offsets: OffsetConfig{
			FlushInterval: 5 * time.Second, VersionStep: 500, DelayFlushInterval: 10 * time.Second, DelayVersionStep: 200,
			Broadcast: true, BroadcastExpiry: 2 * time.Minute, BroadcastMaxExpiry: 5 * time.Minute,
		},
		Clients: ClientConfig{RegisterProducer: true, ChannelExpiry: 120 * time.Second},
		Stop:    StopConfig{Wait: 30 * time.Second},
		Lanes:   defaultLanes(runtime.GOMAXPROCS(0)),
		Store:   store.DefaultConfig(),
	}
}

func defaultLanes(cpus int) LaneConfig {
	return LaneConfig{
		FastFailure: true,
		SendWorkers: min(cpus, 4), SendCapacity: 10_000, SendWait: 200 * time.Millisecond,
		PullWorkers: 16 + 2*cpus, PullCapacity: 100_000, PullWait: 5 * time.Second,
		ReplyWorkers: 16 + 2*cpus, ReplyCapacity: 10_000,
		QueryWorkers: 8 + cpus, QueryCapacity: 20_000,
		AdminWorkers: 16, AdminCapacity: 10_000, AdminWait: 5 * time.Second,
		BeatCapacity: 50_000, BeatWait: 31 * time.Second,
		OffsetWorkers: 32, OffsetCapacity: 1_000_000,
		BalanceWorkers: 32, BalanceCapacity: 100_000,
	}
}

// hostName is the default of brokerName (RocketMQ: NetworkUtil.getLocalAddress or DEFAULT_BROKER).
func hostName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "DEFAULT_BROKER"
}

// Validate reports all faults at once, each naming its key.
func (c *Config) Validate() error {
	var faults []error
	fault := func(format string, a ...any) { faults = append(faults, fmt.Errorf(format, a...)) }

	for key, name := range map[string]string{"brokerName": c.Identity.Name, "brokerClusterName": c.Identity.Cluster} {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7F }) {
			fault("%s=%q: want a name without blanks", key, name) // clients cut texts that contain it at blanks
		}
	}
	for key, ip := range map[string]string{"brokerIP1": c.Identity.IP, "brokerIP2": c.Identity.HAIP} {
		if _, err := netip.ParseAddr(ip); ip != "" && err != nil {
			fault("%s=%q: want an IP address", key, ip)
		}
	}
	for _, addr := range c.Names.Addrs {
		if host, port, ok := cutLast(addr, ":"); !ok || host == "" || port == "" {
			fault("namesrvAddr=%q: want host:port", addr)
		}
	}
	if _, err := delay.ParseLevels(c.Send.DelayLevels); err != nil {
		fault("messageDelayLevel=%q: %w", c.Send.DelayLevels, err)
	}
	if err := c.Store.Validate(); err != nil {
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// cutLast cuts s around the last separator.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return s, "", false
}
