// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"time"

	"github.com/goddard-mq/goddard/internal/store"
)

// Config of a broker. Keys and defaults are RocketMQ's (BrokerConfig, BrokerIdentity, MessageStoreConfig); a key marked
// restart is read when the broker is made, all others at each use.
type Config struct {
	Identity IdentityConfig
	Names    NameServerConfig
	Topics   TopicConfig
	Groups   GroupConfig
	Send     SendConfig
	Pull     PullConfig
	Filter   FilterConfig
	Offsets  OffsetConfig
	Clients  ClientConfig
	Stop     StopConfig
	Lanes    LaneConfig
	Store    store.Config
}

// IdentityConfig says who this broker is, where it is reached and what it may do.
type IdentityConfig struct {
	Cluster  string `rmq:"brokerClusterName,restart"`
	Name     string `rmq:"brokerName,restart"` // of the replica group; "": the host's name
	ID       int64  `rmq:"brokerId,min=0,restart"`
	Bind     string `rmq:"bindAddress,restart"`                   // where the main port listens; tells which address to advertise
	Port     int32  `rmq:"listenPort,min=0,max=65535,restart"`    // of the main port; the fast port is two below
	IP       string `rmq:"brokerIP1,restart"`                     // advertised to clients, part of message ids; "": found
	HAIP     string `rmq:"brokerIP2,restart"`                     // advertised to slaves; "": IP
	HAPort   int32  `rmq:"haListenPort,min=0,max=65535,restart"`  // advertised to slaves; 0: Port + 1
	Perm     int32  `rmq:"brokerPermission,min=0,max=7"`          // 4 read, 2 write; narrows every topic's permission in routes
	RegionID string `rmq:"regionId"`                              // MSG_REGION of messages and answers
	TraceOn  bool   `rmq:"traceOn"`                               // TRACE_ON of messages and answers: clients may trace
	Kept     string `rmq:"brokerConfigPath,restart"`              // file of the settings that requests changed (config.Keep), for the next start; "": forgotten
	Accept   int64  `rmq:"startAcceptSendRequestTimeStamp,min=0"` // ms since 1970; sends before are refused
}

// NameServerConfig says where and how often the broker registers.
type NameServerConfig struct {
	Addrs         []string      `rmq:"namesrvAddr"`                 // host:port; read again at each registration; none: never registers
	Period        time.Duration `rmq:"registerNameServerPeriod,ms"` // kept between 10 s and 60 s
	Timeout       time.Duration `rmq:"registerBrokerTimeoutMills,ms,min=1"`
	ForceRegister bool          `rmq:"forceRegister"`                         // false: ask for the data version first, register only when it differs
	ActingMaster  bool          `rmq:"enableSlaveActingMaster,restart"`       // told to name servers; nothing else acts on it yet
	NotActive     time.Duration `rmq:"brokerNotActiveTimeoutMillis,ms,min=1"` // expiry asked of name servers, with ActingMaster only
}

// TopicConfig says which topics come to be without an administrator, and what administrators may do.
type TopicConfig struct {
	AutoCreate         bool   `rmq:"autoCreateTopicEnable"`               // offer TBW102 as a template
	DefaultQueues      int32  `rmq:"defaultTopicQueueNums,min=1,restart"` // of TBW102, when it is created
	ClusterTopic       bool   `rmq:"clusterTopicEnable,restart"`
	BrokerTopic        bool   `rmq:"brokerTopicEnable,restart"`
	TraceTopic         bool   `rmq:"traceTopicEnable,restart"`
	TraceTopicName     string `rmq:"msgTraceTopicName,restart"`
	ReviveQueues       int32  `rmq:"reviveQueueNum,min=1,restart"`
	TimerWheel         bool   `rmq:"timerWheelEnable,restart"`           // create rmq_sys_wheel_timer at start
	ValidateSystem     bool   `rmq:"validateSystemTopicWhenUpdateTopic"` // refuse admin changes of system topics
	ClearRetryOnDelete bool   `rmq:"clearRetryTopicWhenDeleteTopic"`
	MixedMessageType   bool   `rmq:"enableMixedMessageType"`
	SplitMetadata      bool   `rmq:"enableSplitMetadata"` // answer topic and group tables in pages
	SplitMetadataSize  int32  `rmq:"splitMetadataSize,min=1"`
}

// GroupConfig says how consumer groups come to be and how their members are told of changes.
type GroupConfig struct {
	AutoCreate      bool `rmq:"autoCreateSubscriptionGroup"`
	CreateSystem    bool `rmq:"enableCreateSysGroup"` // CID_RMQ_SYS_ groups are created even without AutoCreate
	NotifyChange    bool `rmq:"notifyConsumerIdsChangedEnable"`
	RealTimeNotify  bool `rmq:"realTimeNotifyConsumerChange"`
	ServerSideReset bool `rmq:"useServerSideResetOffset"`
	RejectPull      bool `rmq:"rejectPullConsumerEnable"` // refuse pulls of clients that are not members
	// LockLife is how long a queue of ordered consumption stays locked when its owner is gone without a word. Not less than
	// the 30 s for which clients trust a lock; more makes a group wait longer after a crash. In RocketMQ a system property.
	LockLife time.Duration `rmq:"rocketmq.broker.rebalance.lockMaxLiveTime,ms,min=30000"`
	Check    CheckConfig
}

// CheckConfig says when something is taken to be wrong with a consumer group (room trouble). The keys are Goddard's own.
type CheckConfig struct {
	Every      time.Duration `rmq:"consumerGroupCheckInterval,ms,min=0"` // between looks at all groups; 0: never
	Unconsumed time.Duration `rmq:"unconsumedQueueTimeout,ms,min=1"`     // that messages wait in a queue that no member pulls; below 60 s queues that a dead member has locked are named, too
	Stuck      time.Duration `rmq:"stuckConsumerTimeout,ms,min=1"`       // that a member does not commit while messages wait; longer than its handler may take, and than clients wait between commits (5 to 10 s)
}

// SendConfig of the send path.
type SendConfig struct {
	RejectTransactions bool          `rmq:"rejectTransactionMessage"`
	StoreReplies       bool          `rmq:"storeReplyMessageEnable"`
	BusyAfter          time.Duration `rmq:"osPageCacheBusyTimeOutMills,ms,min=1"` // while one append takes longer, sends are refused
	DelayLevels        string        `rmq:"messageDelayLevel"`                    // one blank between; units s m h d; level 1 first
	DelayStats         bool          `rmq:"enableScheduleMessageStats"`           // count delayed messages when they are delivered
	DetailStats        bool          `rmq:"enableDetailStat,restart"`             // count pull latencies and delayed messages by queue
}

// PullConfig of the pull and query paths.
type PullConfig struct {
	LongPolling  bool          `rmq:"longPollingEnable"`
	ShortPolling time.Duration `rmq:"shortPollingTimeMills,ms,min=1"` // how long a pull is held without LongPolling
	LitePull     bool          `rmq:"litePullMessageEnable"`
	SlaveRead    bool          `rmq:"slaveReadEnable"`          // suggest slaves to consumers that are far behind
	QueryMax     int32         `rmq:"defaultQueryMaxNum,min=1"` // messages found by unique key
}

// FilterConfig of SQL92 filters.
type FilterConfig struct {
	Properties  bool          `rmq:"enablePropertyFilter"`                           // consumers may filter by properties
	Retry       bool          `rmq:"filterSupportRetry"`                             // subscribing a retry topic by any expression means that of each message's first topic
	Keep        time.Duration `rmq:"filterDataCleanTimeSpan,ms,min=0"`               // of expressions that no member subscribes with any more
	Bits        bool          `rmq:"enableCalcFilterBitMap"`                         // with enableConsumeQueueExt: note beside the queues whose filters match
	BloomErrors int32         `rmq:"maxErrorRateOfBloomFilter,min=1,max=99,restart"` // percent of messages that are read for nothing
	BloomGroups int32         `rmq:"expectConsumerNumUseFilter,min=1,restart"`       // with filters on one topic
}

// OffsetConfig of committed progress.
type OffsetConfig struct {
	FlushInterval      time.Duration `rmq:"flushConsumerOffsetInterval,ms,min=100"`
	VersionStep        int64         `rmq:"consumerOffsetUpdateVersionStep,min=1"` // commits per data version
	DelayFlushInterval time.Duration `rmq:"flushDelayOffsetInterval,ms,min=100"`
	DelayVersionStep   int64         `rmq:"delayOffsetUpdateVersionStep,min=1"`
	Broadcast          bool          `rmq:"enableBroadcastOffsetStore"`          // follow the clients of broadcasting groups
	BroadcastExpiry    time.Duration `rmq:"broadcastOffsetExpireSecond,s,min=1"` // of those not connected, without a pull
	BroadcastMaxExpiry time.Duration `rmq:"broadcastOffsetExpireMaxSecond,s,min=1"`
}

// ClientConfig of the tables of connected clients.
type ClientConfig struct {
	RegisterProducer bool          `rmq:"enableRegisterProducer"`
	ChannelExpiry    time.Duration `rmq:"channelExpiredTimeout,ms,min=1000"`
}

// StopConfig says how the broker leaves its clients.
type StopConfig struct {
	GoAway bool          `rmq:"enableShutdownGracefully"`        // ask clients to go to other brokers, see Broker.Leave
	Wait   time.Duration `rmq:"shutdownWaitTimeSeconds,s,min=0"` // how long for clients to go
}

// LaneConfig says how many requests of a family run at once, how many may wait, and for how long.
type LaneConfig struct {
	FastFailure     bool          `rmq:"brokerFastFailureEnable,restart"` // false: no limit to the waiting
	SendWorkers     int           `rmq:"sendMessageThreadPoolNums,min=1,restart"`
	SendCapacity    int           `rmq:"sendThreadPoolQueueCapacity,min=1"` // also: most sends that wait for the disk
	SendWait        time.Duration `rmq:"waitTimeMillsInSendQueue,ms,min=0,restart"`
	PullWorkers     int           `rmq:"pullMessageThreadPoolNums,min=1,restart"`
	PullCapacity    int           `rmq:"pullThreadPoolQueueCapacity,min=1,restart"` // also: most pulls that are held
	PullWait        time.Duration `rmq:"waitTimeMillsInPullQueue,ms,min=0,restart"`
	ReplyWorkers    int           `rmq:"processReplyMessageThreadPoolNums,min=1,restart"`
	ReplyCapacity   int           `rmq:"replyThreadPoolQueueCapacity,min=1,restart"`
	QueryWorkers    int           `rmq:"queryMessageThreadPoolNums,min=1,restart"`
	QueryCapacity   int           `rmq:"queryThreadPoolQueueCapacity,min=1,restart"`
	AdminWorkers    int           `rmq:"adminBrokerThreadPoolNums,min=1,restart"`
	AdminCapacity   int           `rmq:"adminBrokerThreadPoolQueueCapacity,min=1,restart"`
	AdminWait       time.Duration `rmq:"waitTimeMillsInAdminBrokerQueue,ms,min=0,restart"`
	BeatCapacity    int           `rmq:"heartbeatThreadPoolQueueCapacity,min=1,restart"` // only heartbeats that bring a new group wait
	BeatWait        time.Duration `rmq:"waitTimeMillsInHeartbeatQueue,ms,min=0,restart"`
	OffsetWorkers   int           `rmq:"consumerManageThreadPoolNums,min=1,restart"`
	OffsetCapacity  int           `rmq:"consumerManagerThreadPoolQueueCapacity,min=1,restart"`
	BalanceWorkers  int           `rmq:"loadBalanceProcessorThreadPoolNums,min=1,restart"`
	BalanceCapacity int           `rmq:"loadBalanceThreadPoolQueueCapacity,min=1,restart"`
}
