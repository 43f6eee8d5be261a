// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package node

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/goddard-mq/goddard/internal/config"
)

// ownKeys are those that RocketMQ does not have. The list keeps a misspelt key of RocketMQ from passing for one.
var ownKeys = map[string]string{
	"tailCacheBytes":     "the log's end in memory",
	"pendingAppendBytes": "bound of what waits for the disk",
	"preallocateBytes":   "disk reserved ahead",
	"maxOpenFiles":       "bound of open files",
	"checkpointBytes":    "log between two checkpoints",
	"fileReservedBytes":  "bound of the store's size on disk",
	"tagsIndexEnable":    "queries by tag",

	"consumerGroupCheckInterval": "looks at consumer groups",
	"unconsumedQueueTimeout":     "when a queue that nobody pulls is a fault",
	"stuckConsumerTimeout":       "when a member that does not commit is one",

	"rocketmq.broker.rebalance.lockMaxLiveTime": "a system property of the JVM there",
}

// otherDefaults are the keys whose default is not what RocketMQ 5.5.0 answered, with the reason.
var otherDefaults = map[string]string{
	"flushDiskType":              "an acknowledged message is on disk unless asked otherwise",
	"brokerName":                 "the host's name; the capture set it",
	"brokerIP1":                  "found at start; the capture set it",
	"brokerIP2":                  "found at start; the capture set it",
	"bindAddress":                "same",
	"listenPort":                 "the capture set it",
	"haListenPort":               "listenPort + 1; the capture set it",
	"namesrvAddr":                "the capture set it",
	"mappedFileSizeCommitLog":    "the capture set it; 1 GiB by default",
	"storePathRootDir":           "below --data; the capture set it",
	"storePathCommitLog":         "below storePathRootDir; the capture set it",
	"kvConfigPath":               "below --data; the capture set it",
	"configStorePath":            "below --data; the capture set it",
	"brokerConfigPath":           "below --data; RocketMQ's is the file it was started with",
	"sendMessageThreadPoolNums":  "depends on the number of processors",
	"pullMessageThreadPoolNums":  "depends on the number of processors",
	"queryMessageThreadPoolNums": "depends on the number of processors",

	"processReplyMessageThreadPoolNums": "depends on the number of processors",
}

// The files in testdata are the answers of mqadmin getBrokerConfig and getNamesrvConfig of a 5.5.0 server with its
// defaults. Who moves here keeps what he is used to.
func TestDefaultsAreRocketMQs(t *testing.T) {
	cfg := Defaults(true, true)
	for file, target := range map[string]any{"broker-5.5.0.properties": cfg.Broker, "namesrv-5.5.0.properties": cfg.NameServer} {
		java, err := config.File(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, s := range java.Settings {
			want[s.Key] = s.Value
		}
		for _, kv := range config.List(target) {
			value, has := want[kv.Key]
			switch {
			case otherDefaults[kv.Key] != "":
			case has && value != kv.Value:
				t.Errorf("%s is %q by default, in RocketMQ %q", kv.Key, kv.Value, value)
			}
		}
	}
}

// A key that nothing acts on must say so when it is set, and is not shown among the settings.
func TestKeysWithoutEffectWarn(t *testing.T) {
	cfg := Defaults(true, true)
	file := config.Layer{Source: config.FromFile}
	keys := []string{
		"heartbeatThreadPoolNums", "clientManageThreadPoolNums", "clientManagerThreadPoolQueueCapacity", "subscriptionExpiredTimeout", "lockInStrictMode",
		"ackMessageThreadPoolNums", "waitTimeMillsInAckQueue", "endTransactionThreadPoolNums",
	}
	for _, key := range keys {
		file.Add("broker.conf:1", key, "1")
	}
	loaded, err := config.Load(cfg.Targets(), file)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if !slices.Contains(loaded.Warnings, "broker.conf:1: "+key+" has no effect: RocketMQ knows it, Goddard does not act on it") {
			t.Errorf("%s: no warning among %q", key, loaded.Warnings)
		}
		if slices.ContainsFunc(config.List(cfg.Broker, cfg.NameServer), func(kv config.KV) bool { return kv.Key == key }) {
			t.Errorf("%s is shown among the settings", key)
		}
	}
}

func TestKeysAreRocketMQs(t *testing.T) {
	cfg := Defaults(true, true)
	for _, target := range cfg.Targets() {
		for _, f := range config.Fields(target.Config) {
			if !config.Known(f.Key) && ownKeys[f.Key] == "" {
				t.Errorf("%s is no key of RocketMQ and not listed as Goddard's own", f.Key)
			}
		}
	}
	for key := range ownKeys {
		if config.Known(key) {
			t.Errorf("%s is listed as Goddard's own, but RocketMQ has it", key)
		}
	}
}
