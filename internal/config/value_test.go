// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package config

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type diskMode string

type testStore struct {
	Root  string   `rmq:"storePathRootDir"`
	Mode  diskMode `rmq:"flushDiskType,oneof=SYNC_FLUSH|ASYNC_FLUSH"`
	Bytes int64    `rmq:"mappedFileSizeCommitLog,min=1024,restart"`
}

type testBroker struct {
	Name     string        `rmq:"brokerName"`
	ID       int64         `rmq:"brokerId,min=0"`
	Port     int32         `rmq:"listenPort,min=0,max=65535"`
	Queues   int32         `rmq:"defaultTopicQueueNums"`
	Auto     bool          `rmq:"autoCreateTopicEnable"`
	Interval time.Duration `rmq:"flushConsumerOffsetInterval,ms,min=100"`
	Reserved time.Duration `rmq:"fileReservedTime,h"`
	Ratio    float64       `rmq:"maxErrorRateOfBloomFilter,min=0,max=100"`
	Servers  []string      `rmq:"namesrvAddr"`
	Store    testStore
	Logger   *int
}

func (b *testBroker) Validate() error {
	if b.Name == "" {
		return &ValueError{Key: "brokerName", Value: b.Name, Want: "a name"}
	}
	return nil
}

func defaultTestBroker() testBroker {
	return testBroker{
		Name: "broker-a", Port: 10911, Queues: 8, Auto: true, Interval: 5 * time.Second, Reserved: 72 * time.Hour, Ratio: 20,
		Store: testStore{Root: "store", Mode: "SYNC_FLUSH", Bytes: 1 << 30},
	}
}

func TestSet(t *testing.T) {
	tests := []struct {
		name, key, value string
		want             string // text afterwards
		fault            string // "" when the value is taken
	}{
		{name: "text", key: "brokerName", value: "b2", want: "b2"},
		{name: "text with blanks around it, as a properties file leaves behind", key: "brokerName", value: " b2 ", want: "b2"},
		{name: "number with a blank behind it, which Java drops in silence", key: "listenPort", value: "10921 ", want: "10921"},
		{name: "number that is none", key: "listenPort", value: "10.911", want: "10911", fault: "listenPort=10.911: want a whole number from 0 to 65535"},
		{name: "number above its range", key: "listenPort", value: "65536", want: "10911", fault: "listenPort=65536: want a whole number from 0 to 65535"},
		{name: "number above its type", key: "defaultTopicQueueNums", value: "2147483648", want: "8", fault: "defaultTopicQueueNums=2147483648: want a whole number from -2147483648 to 2147483647"},
		{name: "number below its smallest", key: "brokerId", value: "-1", want: "0", fault: "brokerId=-1: want a whole number, at least 0"},
		{name: "empty number", key: "brokerId", value: "", want: "0", fault: "brokerId=: want a whole number, at least 0"},
		{name: "switch in capitals", key: "autoCreateTopicEnable", value: "FALSE", want: "false"},
		{name: "switch with a typo, which Java takes for false", key: "autoCreateTopicEnable", value: "ture", want: "true", fault: "autoCreateTopicEnable=ture: want true or false"},
		{name: "duration in its unit", key: "flushConsumerOffsetInterval", value: "250", want: "250"},
		{name: "duration below its smallest", key: "flushConsumerOffsetInterval", value: "99", want: "5000", fault: "flushConsumerOffsetInterval=99: want a whole number of milliseconds, at least 100"},
		{name: "duration in Go's form", key: "flushConsumerOffsetInterval", value: "5s", want: "5000", fault: "flushConsumerOffsetInterval=5s: want a whole number of milliseconds, at least 100"},
		{name: "duration in hours", key: "fileReservedTime", value: "48", want: "48"},
		{name: "duration that does not fit", key: "fileReservedTime", value: "9223372036854775807", want: "72", fault: "fileReservedTime=9223372036854775807: want a whole number of hours"},
		{name: "fraction", key: "maxErrorRateOfBloomFilter", value: "12.5", want: "12.5"},
		{name: "whole fraction keeps its point", key: "maxErrorRateOfBloomFilter", value: "20", want: "20.0"},
		{name: "not a number", key: "maxErrorRateOfBloomFilter", value: "NaN", want: "20.0", fault: "maxErrorRateOfBloomFilter=NaN: want a number from 0 to 100"},
		{name: "list", key: "namesrvAddr", value: "a:9876; b:9876;", want: "a:9876;b:9876"},
		{name: "choice in a nested struct", key: "flushDiskType", value: "ASYNC_FLUSH", want: "ASYNC_FLUSH"},
		{name: "no choice of this name", key: "flushDiskType", value: "async", want: "SYNC_FLUSH", fault: "flushDiskType=async: want SYNC_FLUSH or ASYNC_FLUSH"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := defaultTestBroker()
			known, err := Set(&b, tt.key, tt.value)
			if !known {
				t.Fatalf("Set(%s): not known", tt.key)
			}
			fault := ""
			if err != nil {
				fault = err.Error()
				if _, ok := errors.AsType[*ValueError](err); !ok {
					t.Errorf("error is a %T, want *ValueError", err)
				}
			}
			if fault != tt.fault {
				t.Errorf("error %q, want %q", fault, tt.fault)
			}
			if got, _ := Get(&b, tt.key); got != tt.want {
				t.Errorf("text is %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSetUnknown(t *testing.T) {
	b := defaultTestBroker()
	for _, key := range []string{"brokername", "hidden", "Logger", ""} {
		if known, err := Set(&b, key, "1"); known || err != nil {
			t.Errorf("Set(%q) = %v, %v; want unknown", key, known, err)
		}
	}
}

func TestList(t *testing.T) {
	b, other := defaultTestBroker(), testStore{Root: "elsewhere"}
	want := []KV{
		{"autoCreateTopicEnable", "true"}, {"brokerId", "0"}, {"brokerName", "broker-a"}, {"defaultTopicQueueNums", "8"},
		{"fileReservedTime", "72"}, {"flushConsumerOffsetInterval", "5000"}, {"flushDiskType", "SYNC_FLUSH"},
		{"listenPort", "10911"}, {"mappedFileSizeCommitLog", "1073741824"}, {"maxErrorRateOfBloomFilter", "20.0"},
		{"namesrvAddr", ""}, {"storePathRootDir", "store"},
	}
	if diff := cmp.Diff(want, List(&b, &other)); diff != "" {
		t.Error(diff)
	}
}

// What List writes, Set takes: a broker's configuration can be written to a file and read again.
func TestListSetRoundTrip(t *testing.T) {
	a := defaultTestBroker()
	a.Servers = []string{"a:1", "b:2"}
	var b testBroker
	for _, kv := range List(&a) {
		if known, err := Set(&b, kv.Key, kv.Value); !known || err != nil {
			t.Fatalf("Set(%v) = %v, %v", kv, known, err)
		}
	}
	if diff := cmp.Diff(List(&a), List(&b)); diff != "" {
		t.Error(diff)
	}
}

func TestFieldsPanicsOnBadTags(t *testing.T) {
	tests := map[string]any{
		"duration without a unit": &struct {
			D time.Duration `rmq:"d"`
		}{},
		"unit on a plain number": &struct {
			N int64 `rmq:"n,ms"`
		}{},
		"no key": &struct {
			N int64 `rmq:",min=1"`
		}{},
		"a type without text": &struct {
			M map[string]string `rmq:"m"`
		}{},
		"an option nobody knows": &struct {
			N int64 `rmq:"n,minimum=3"`
		}{},
		"no pointer": struct{}{},
	}
	for name, v := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			Fields(v)
		})
	}
}

// Two rooms put together in one struct may read the same key.
func TestOneKeyForTwoFields(t *testing.T) {
	s := struct {
		A struct {
			Port int32 `rmq:"port"`
		}
		B struct {
			Port int64 `rmq:"port,max=9"`
		}
	}{}
	if known, err := Set(&s, "port", "7"); !known || err != nil || s.A.Port != 7 || s.B.Port != 7 {
		t.Errorf("Set = %v, %v: %+v", known, err, s)
	}
	if diff := cmp.Diff([]KV{{"port", "7"}}, List(&s)); diff != "" {
		t.Error(diff)
	}
	if _, err := Set(&s, "port", "10"); err == nil {
		t.Error("a value that one of them cannot take was taken")
	}
}

func TestFields(t *testing.T) {
	var s testStore
	fields := Fields(&s)
	if len(fields) != 3 || fields[2].Key != "mappedFileSizeCommitLog" || !fields[2].Restart || *fields[2].Min != 1024 {
		t.Errorf("Fields = %+v", fields)
	}
}
