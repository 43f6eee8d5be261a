// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package broker

import (
	"slices"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/config"
)

func TestValidate(t *testing.T) {
	tests := []struct {
		key, value string
		fault      string // part of it; "": none
	}{
		{"brokerName", "broker-a.example.org", ""},
		{"brokerName", "", "brokerName"},
		{"brokerName", "broker a", "brokerName"},
		{"brokerClusterName", "my cluster", "brokerClusterName"},
		{"brokerIP1", "10.0.0.1", ""},
		{"brokerIP1", "2001:db8::1", ""},
		{"brokerIP1", "somewhere", "brokerIP1"},
		{"namesrvAddr", "a:9876;b:9876", ""},
		{"namesrvAddr", "a:9876;b", "namesrvAddr"},
		{"namesrvAddr", ":9876", "namesrvAddr"},
		{"messageDelayLevel", "1s 5s", ""},
		{"messageDelayLevel", "1s  5s", "messageDelayLevel"},
		{"messageDelayLevel", "soon", "messageDelayLevel"},
	}
	for _, tt := range tests {
		t.Run(tt.key+"="+tt.value, func(t *testing.T) {
			c := DefaultConfig()
			if known, err := config.Set(&c, tt.key, tt.value); !known || err != nil {
				t.Fatalf("known %t, %v", known, err)
			}
			err := c.Validate()
			if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("fault %v, want one with %q", err, tt.fault)
			}
		})
	}
}

func TestValidateReportsAllFaults(t *testing.T) {
	c := DefaultConfig()
	c.Identity.Name, c.Identity.IP, c.Send.DelayLevels, c.Store.Root = "", "x", "y", ""
	err := c.Validate()
	for _, key := range []string{"brokerName", "brokerIP1", "messageDelayLevel", "storePathRootDir"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
}

// Defaults that differ from RocketMQ's would surprise whoever moves over.
func TestDefaults(t *testing.T) {
	c := DefaultConfig()
	for key, want := range map[string]string{
		"brokerClusterName": "DefaultCluster", "brokerId": "0", "listenPort": "10911", "brokerPermission": "6", "regionId": "DefaultRegion",
		"registerNameServerPeriod": "30000", "registerBrokerTimeoutMills": "24000", "forceRegister": "true",
		"autoCreateTopicEnable": "true", "defaultTopicQueueNums": "8", "autoCreateSubscriptionGroup": "true",
		"sendThreadPoolQueueCapacity": "10000", "pullThreadPoolQueueCapacity": "100000", "waitTimeMillsInSendQueue": "200",
		"waitTimeMillsInPullQueue": "5000", "longPollingEnable": "true", "shortPollingTimeMills": "1000",
		"storeReplyMessageEnable": "true", "rejectTransactionMessage": "false", "enablePropertyFilter": "false",
		"messageDelayLevel": "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h", "flushDelayOffsetInterval": "10000",
		"enableBroadcastOffsetStore": "true", "broadcastOffsetExpireSecond": "120", "broadcastOffsetExpireMaxSecond": "300",
		"enableScheduleMessageStats": "true", "enableDetailStat": "true", "osPageCacheBusyTimeOutMills": "1000", "defaultQueryMaxNum": "32", "channelExpiredTimeout": "120000",
		"rocketmq.broker.rebalance.lockMaxLiveTime": "60000",
	} {
		if got, _ := config.Get(&c, key); got != want {
			t.Errorf("%s=%s, want %s", key, got, want)
		}
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	others := map[string]bool{} // the store's, and Goddard's own
	for _, f := range slices.Concat(config.Fields(&c.Store), config.Fields(&c.Groups.Check)) {
		others[f.Key] = true
	}
	for _, f := range config.Fields(&c) {
		systemProperty := strings.HasPrefix(f.Key, "rocketmq.") // of the JVM, in no configuration file there
		if !others[f.Key] && !systemProperty && !config.Known(f.Key) {
			t.Errorf("no RocketMQ release knows %s", f.Key)
		}
	}
}
