// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEnvName(t *testing.T) {
	for key, want := range map[string]string{
		"flushDiskType": "GODDARD_FLUSH_DISK_TYPE", "brokerIP1": "GODDARD_BROKER_IP1", "brokerId": "GODDARD_BROKER_ID",
		"dLegerGroup": "GODDARD_D_LEGER_GROUP", "usePIDColdCtrStrategy": "GODDARD_USE_PID_COLD_CTR_STRATEGY",
		"enableRetryTopicV2": "GODDARD_ENABLE_RETRY_TOPIC_V2", "useTLS": "GODDARD_USE_TLS", "nameserver-listen": "GODDARD_NAMESERVER_LISTEN",
		"rocketmq.broker.rebalance.lockMaxLiveTime": "GODDARD_ROCKETMQ_BROKER_REBALANCE_LOCK_MAX_LIVE_TIME",
	} {
		if got := EnvName(key); got != want {
			t.Errorf("EnvName(%s) = %s, want %s", key, got, want)
		}
	}
}

// A variable means one key: were two keys spelled alike, one could not be set.
func TestEnvNamesAreUnique(t *testing.T) {
	b := defaultTestBroker()
	byName := map[string]string{}
	for _, key := range allNames(roomKeys([]Target{{Config: &b}})) {
		name := EnvName(key)
		if other := byName[name]; other != "" {
			t.Errorf("%s stands for %s and %s", name, key, other)
		}
		byName[name] = key
	}
	if len(byName) < 700 {
		t.Errorf("only %d keys known", len(byName))
	}
}

func TestEnvironment(t *testing.T) {
	b := defaultTestBroker()
	layer, warnings := Environment([]string{
		"PATH=/bin", "GODDARD_BROKER_NAME=env=1", "GODDARD_DATA=/data", "GODDARD_GRPC_SERVER_PORT=8081", "GODDARD_BROKR_NAME=x", "GODDARD_DATTA=x",
		"GODDARD_SERVICE_HOST=10.0.0.1", "GODDARD_PORT=tcp://10.0.0.1:9876", "GODDARD_PORT_9876_TCP_ADDR=10.0.0.1", "GODDARD_BROKER_SERVICE_PORT_REMOTING=1",
	}, []Target{{Config: &b}}, []string{"GODDARD_DATA"})
	want := Layer{Source: FromEnvironment, Settings: []Setting{
		{KV{"brokerName", "env=1"}, "GODDARD_BROKER_NAME"}, {KV{"grpcServerPort", "8081"}, "GODDARD_GRPC_SERVER_PORT"},
	}}
	if diff := cmp.Diff(want, layer); diff != "" {
		t.Error(diff)
	}
	wantWarnings := []string{
		"environment variable GODDARD_BROKR_NAME has no effect: no setting has that name; the nearest is GODDARD_BROKER_NAME",
		"environment variable GODDARD_DATTA has no effect: no setting has that name; the nearest is GODDARD_DATA",
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Error(diff)
	}
}
