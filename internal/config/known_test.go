// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import "testing"

// Keys of several releases and of every reader, so that a damaged table is seen.
func TestKnownKeys(t *testing.T) {
	for key, reader := range map[string]string{
		"brokerClusterName": "broker", "enableSlaveActingMaster": "broker", "liteEventCheckInterval": "broker", "rmqAddressServerDomain": "broker",
		"warmMapedFileEnable": "store", "dLegerPeers": "store", "timerWarmEnable": "store", "serverSocketBacklog": "network",
		"kvConfigPath": "nameserver", "controllerDLegerPeers": "controller", "jRaftServerId": "controller", "initAuthenticationUser": "auth",
		"tieredStorageLevel": "tiered", "grpcServerPort": "proxy",
	} {
		k := knownKeys()[key]
		if k == nil || k.readers[0] != reader {
			t.Errorf("%s: got %+v, want reader %s", key, k, reader)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"brokerId", "brokerIP1", "brokerName", "listenPort"}
	for key, want := range map[string]string{
		"brokerID": "brokerId", "brokerIP": "brokerIP1", "borkerName": "brokerName", "port": "", "listnPort": "listenPort", "": "", "x": "",
	} {
		if got := nearest(key, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"ab", "abc", 1}, {"kitten", "sitting", 3}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}
