// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package nameserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Config of a name server. Keys and defaults are RocketMQ's (NamesrvConfig,
// NettyServerConfig); a key marked restart is read when the server is made, all
// others at each use.
type Config struct {
	Listen  ListenConfig
	Files   FileConfig
	Routes  RouteConfig
	Brokers BrokerConfig
	Lane    LaneConfig
}

// ListenConfig says where clients and brokers connect, and how they are left.
type ListenConfig struct {
	Bind string        `rmq:"bindAddress,restart"`
	Port int32         `rmq:"listenPort,min=0,max=65535,restart"`
	Idle time.Duration `rmq:"serverChannelMaxIdleTimeSeconds,s,min=1,restart"` // a connection without traffic for longer is closed

	GoAway bool          `rmq:"enableShutdownGracefully"`        // ask clients to go to other name servers, see Server.Leave
	Wait   time.Duration `rmq:"shutdownWaitTimeSeconds,s,min=0"` // how long for clients to go
}

// FileConfig says what is kept where.
type FileConfig struct {
	KV       string `rmq:"kvConfigPath,restart"`    // the key-value settings; "": in memory only
	Settings string `rmq:"configStorePath,restart"` // settings that requests changed (config.Keep), read at the next start; "": not kept
	// BlackList names the settings that no request may change.
	BlackList []string `rmq:"configBlackList"`
}

// RouteConfig says what clients are told.
type RouteConfig struct {
	ActingMaster  bool          `rmq:"supportActingMaster"` // show the slave with the smallest id as master where there is none
	OrderConf     bool          `rmq:"orderMessageEnable"`  // add the topic's value of ORDER_TOPIC_CONFIG
	AllTopicList  bool          `rmq:"enableAllTopicList"`  // answer the list of all topics
	TopicList     bool          `rmq:"enableTopicList"`     // answer the lists by cluster and of the unit mode
	WaitForBroker bool          `rmq:"needWaitForService"`  // after a start, answer no route before StartupWait is over
	StartupWait   time.Duration `rmq:"waitSecondsForService,s,min=0"`
}

// BrokerConfig says how brokers come and go.
type BrokerConfig struct {
	ScanInterval   time.Duration `rmq:"scanNotActiveBrokerInterval,ms,min=10"` // between two looks for expired brokers
	DepartureQueue int           `rmq:"unRegisterBrokerQueueCapacity,min=1"`   // goodbyes that may wait; more are refused
	WholeTruth     bool          `rmq:"deleteTopicWithBrokerRegistration"`     // a registration lists all topics: others are dropped
	ReturnOrder    bool          `rmq:"returnOrderTopicConfigToBroker"`        // answer registrations with ORDER_TOPIC_CONFIG
	NotifyMinID    bool          `rmq:"notifyMinBrokerIdChanged"`              // tell brokers when the smallest id of their name changes
}

// LaneConfig of the requests that wait for the disk; all others are answered as they are read.
type LaneConfig struct {
	Workers  int `rmq:"defaultThreadPoolNums,min=1,restart"`
	Capacity int `rmq:"defaultThreadPoolQueueCapacity,min=1,restart"`
}

// DefaultConfig is what RocketMQ does by default, except that settings changed by
// a request are not written to a file that nobody reads.
func DefaultConfig() Config {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return Config{
		Listen: ListenConfig{Bind: "0.0.0.0", Port: 9876, Idle: 120 * time.Second, Wait: 30 * time.Second},
		Files: FileConfig{
			KV:        filepath.Join(home, "namesrv", "kvConfig.json"),
			BlackList: []string{"configBlackList", "configStorePath", "kvConfigPath"},
		},
		Routes:  RouteConfig{AllTopicList: true, TopicList: true, StartupWait: 45 * time.Second},
		Brokers: BrokerConfig{ScanInterval: 5 * time.Second, DepartureQueue: 3000, ReturnOrder: true},
		Lane:    LaneConfig{Workers: 16, Capacity: 10000},
	}
}

// Validate reports every fault at once.
func (c *Config) Validate() error {
	var faults []error
	check := func(ok bool, format string, a ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, a...))
		}
	}
	check(c.Listen.Port >= 0 && c.Listen.Port <= 65535, "listenPort=%d is not a port", c.Listen.Port)
	check(c.Listen.Idle > 0, "serverChannelMaxIdleTimeSeconds must be at least 1")
	check(c.Routes.StartupWait >= 0, "waitSecondsForService must not be negative")
	check(c.Brokers.ScanInterval >= 10*time.Millisecond, "scanNotActiveBrokerInterval must be at least 10")
	check(c.Brokers.DepartureQueue > 0, "unRegisterBrokerQueueCapacity must be at least 1")
	check(c.Lane.Workers > 0, "defaultThreadPoolNums must be at least 1")
	check(c.Lane.Capacity > 0, "defaultThreadPoolQueueCapacity must be at least 1")
	return errors.Join(faults...)
}
