// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/goddard-mq/goddard/internal/javajson"
	"github.com/goddard-mq/goddard/internal/protocol"
)

// Classes of the table that are written and read here only to show that package javajson can.
type (
	consumeStats struct {
		ConsumeTPS  float64                           `json:"consumeTps"`
		OffsetTable map[protocol.MessageQueue]offsets `json:"offsetTable"`
	}
	offsets struct {
		BrokerOffset   int64 `json:"brokerOffset"`
		ConsumerOffset int64 `json:"consumerOffset"`
		LastTimestamp  int64 `json:"lastTimestamp"`
		PullOffset     int64 `json:"pullOffset"`
	}
	processQueue struct {
		CachedMsgCount          int32 `json:"cachedMsgCount"`
		CachedMsgMaxOffset      int64 `json:"cachedMsgMaxOffset"`
		CachedMsgMinOffset      int64 `json:"cachedMsgMinOffset"`
		CachedMsgSizeInMiB      int32 `json:"cachedMsgSizeInMiB"`
		CommitOffset            int64 `json:"commitOffset"`
		Droped                  bool  `json:"droped"`
		LastConsumeTimestamp    int64 `json:"lastConsumeTimestamp"`
		LastLockTimestamp       int64 `json:"lastLockTimestamp"`
		LastPullTimestamp       int64 `json:"lastPullTimestamp"`
		Locked                  bool  `json:"locked"`
		TransactionMsgCount     int32 `json:"transactionMsgCount"`
		TransactionMsgMaxOffset int64 `json:"transactionMsgMaxOffset"`
		TransactionMsgMinOffset int64 `json:"transactionMsgMinOffset"`
		TryUnlockTimes          int64 `json:"tryUnlockTimes"`
	}
	runningInfo struct {
		MqPopTable       map[protocol.MessageQueue]javajson.Raw `json:"mqPopTable"`
		MqTable          map[protocol.MessageQueue]processQueue `json:"mqTable"`
		Properties       map[string]string                      `json:"properties"`
		StatusTable      map[string]consumeStatus               `json:"statusTable"`
		SubscriptionSet  []protocol.SubscriptionData            `json:"subscriptionSet"`
		UserConsumerInfo map[string]string                      `json:"userConsumerInfo"`
	}
	consumeStatus struct {
		ConsumeFailedMsgs int64   `json:"consumeFailedMsgs"`
		ConsumeFailedTPS  float64 `json:"consumeFailedTPS"`
		ConsumeOKTPS      float64 `json:"consumeOKTPS"`
		ConsumeRT         float64 `json:"consumeRT"`
		PullRT            float64 `json:"pullRT"`
		PullTPS           float64 `json:"pullTPS"`
	}
	consumerOffsets struct {
		OffsetTable map[string]map[int32]int64 `json:"offsetTable"`
	}
	plainTopics struct { // TopicConfigSerializeWrapper, which knows no mappings
		DataVersion      protocol.DataVersion             `json:"dataVersion"`
		TopicConfigTable map[string]*protocol.TopicConfig `json:"topicConfigTable"`
	}
	mappings struct {
		DataVersion              protocol.DataVersion                         `json:"dataVersion"`
		TopicQueueMappingInfoMap map[string]*protocol.TopicQueueMappingDetail `json:"topicQueueMappingInfoMap"`
	}
	remotingCommand struct {
		Code       int32             `json:"code"`
		ExtFields  map[string]string `json:"extFields"`
		Flag       int32             `json:"flag"`
		Language   language          `json:"language,omitempty"`
		Remark     string            `json:"remark,omitempty"`
		Serializer string            `json:"serializeTypeCurrentRPC"`
		Version    int32             `json:"version"`
	}
	language string
)

func (s *consumeStats) JSONDefaults() { s.OffsetTable = map[protocol.MessageQueue]offsets{} }
func (s *plainTopics) JSONDefaults()  { s.TopicConfigTable = map[string]*protocol.TopicConfig{} }
func (c *remotingCommand) JSONDefaults() {
	*c = remotingCommand{Language: "JAVA", Serializer: "JSON"}
}
func (language) JSONNames() []string { return []string{"JAVA", "CPP"} }

func (i *runningInfo) JSONDefaults() {
	i.StatusTable = map[string]consumeStatus{}
	i.MqPopTable, i.MqTable = map[protocol.MessageQueue]javajson.Raw{}, map[protocol.MessageQueue]processQueue{}
	i.Properties, i.UserConsumerInfo = map[string]string{}, map[string]string{}
	i.SubscriptionSet = []protocol.SubscriptionData{}
}

var classes = map[string]func() any{
	"route.TopicRouteData":                       func() any { return new(protocol.TopicRouteData) },
	"body.ClusterInfo":                           func() any { return new(protocol.ClusterInfo) },
	"heartbeat.HeartbeatData":                    func() any { return new(protocol.HeartbeatData) },
	"body.ResetOffsetBody":                       func() any { return new(protocol.ResetOffsetBody) },
	"admin.TopicStatsTable":                      func() any { return new(protocol.TopicStats) },
	"admin.ConsumeStats":                         func() any { return new(consumeStats) },
	"body.ConsumerRunningInfo":                   func() any { return new(runningInfo) },
	"body.QueryCorrectionOffsetBody":             func() any { return new(protocol.CorrectionOffsets) },
	"body.GetConsumerStatusBody":                 func() any { return new(protocol.ConsumerStatus) },
	"body.LockBatchRequestBody":                  func() any { return new(protocol.LockBatchBody) },
	"DataVersion":                                func() any { return new(protocol.DataVersion) },
	"RemotingCommand":                            func() any { return new(remotingCommand) },
	"body.TopicConfigSerializeWrapper":           func() any { return new(plainTopics) },
	"body.ConsumerOffsetSerializeWrapper":        func() any { return new(consumerOffsets) },
	"body.SubscriptionGroupWrapper":              func() any { return new(protocol.SubscriptionGroupWrapper) },
	"statictopic.TopicQueueMappingDetail":        func() any { return new(protocol.TopicQueueMappingDetail) },
	"body.TopicConfigAndMappingSerializeWrapper": func() any { return new(protocol.TopicConfigWrapper) },
	"body.TopicQueueMappingSerializeWrapper":     func() any { return new(mappings) },
	"body.BrokerMemberGroup":                     func() any { return new(protocol.BrokerMemberGroup) },
}

type dialectTable struct {
	Cases []struct{ Type, In, Out, Error string }
}

// lenient are the texts that fastjson 2 refuses or ignores and fastjson 1 (4.9) reads: we read them.
var lenient = map[string]string{
	`{brokerDatas:[],queueDatas:[]}`: `{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}`,
	`{"BrokerDatas":[{}]}`:           `{"brokerDatas":[{"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[]}`,
	`{"broker_datas":[{}]}`:          `{"brokerDatas":[{"enableActingMaster":false}],"filterServerTable":{},"queueDatas":[]}`,
	`[]`:                             ``,
	`{"offsetTable":{"{\"brokerName\":\"b\",\"queueId\":0,\"topic\":\"t\"}":10}}`: `{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"t"}:10}}`,
	`{"unknown":{{"brokerName":"b","queueId":0,"topic":"t"}:1}}`:                  `{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":0},"topicConfigTable":{}}`,
	`{"unknown":{0:1}}`: `{"dataVersion":{"counter":0,"stateVersion":0,"timestamp":0},"topicConfigTable":{}}`,
}

// bareMappings of a class that does not know them: like {"unknown":{0:1}}.
const bareMappings = `{"topicQueueMappingDetailMap":{"t":{"bname":"b","currIdMap":{0:0}`

var (
	opaque          = regexp.MustCompile(`"opaque":\d+,`)
	madeNow         = regexp.MustCompile(`"timestamp":179\d{10}`)
	mappingVersion0 = `"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":0},`
)

// TestDialectOf550 goes through the texts that classes of 5.5.0 were given: what they refuse is
// refused, what they read and write is written the same.
func TestDialectOf550(t *testing.T) {
	for _, c := range golden[dialectTable](t, "json_dialect_5.5.0.json").Cases {
		class := strings.TrimPrefix(c.Type, "org.apache.rocketmq.remoting.protocol.")
		t.Run(class, func(t *testing.T) {
			v := classes[class]()
			err := javajson.Unmarshal([]byte(c.In), v)
			want, isLenient := lenient[c.In]
			if !isLenient && strings.HasPrefix(c.In, bareMappings) && class == "body.TopicConfigSerializeWrapper" {
				want, isLenient = lenient[`{"unknown":{0:1}}`], true
			}
			switch {
			case c.Error != "" && !isLenient:
				if err == nil {
					t.Errorf("%s is read", c.In)
				}
				return
			case err != nil:
				t.Fatalf("%s: %v", c.In, err)
			case isLenient && want == "" || c.Out == "null":
				return // a null object
			case !isLenient:
				want = madeNow.ReplaceAllString(opaque.ReplaceAllString(c.Out, ""), `"timestamp":0`)
				want = quoteMappings(strings.Replace(want, mappingVersion0, "", 1))
			}
			if got := string(javajson.Marshal(v, javajson.Bare)); got != want {
				t.Errorf("%s\n got %s\nwant %s", c.In, got, want)
			}
		})
	}
}

// TestDialectOf497: what 4.9.7 reads we read, what it refuses we refuse.
func TestDialectOf497(t *testing.T) {
	for _, c := range golden[dialectTable](t, "json_dialect_4.9.7.json").Cases {
		class := strings.TrimPrefix(c.Type, "org.apache.rocketmq.")
		class = strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(class, "remoting."), "common."), "protocol.")
		t.Run(class, func(t *testing.T) {
			make, ok := classes[class]
			if !ok {
				t.Fatalf("no class %s", class)
			}
			err := javajson.Unmarshal([]byte(c.In), make())
			if (err != nil) != (c.Error != "") {
				t.Errorf("%s: %v; 4.9.7: %q", c.In, err, c.Error)
			}
		})
	}
}
