// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import (
	"strings"
	"unicode"
)

// Prefixes of names.
const (
	RetryPrefix       = "%RETRY%" // retry topic of a group
	DeadLetterPrefix  = "%DLQ%"   // dead-letter topic of a group
	LMQPrefix         = "%LMQ%"   // light topic
	SystemTopicPrefix = "rmq_sys_"
	SystemGroupPrefix = "CID_RMQ_SYS_"
)

// Topics of the system (RocketMQ: TopicValidator).
const (
	TopicDefault           = "TBW102" // template of topics created on first use
	TopicSchedule          = "SCHEDULE_TOPIC_XXXX"
	TopicBenchmark         = "BenchmarkTest"
	TopicTransHalf         = "RMQ_SYS_TRANS_HALF_TOPIC"
	TopicTransOpHalf       = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
	TopicTransCheckMax     = "TRANS_CHECK_MAX_TIME_TOPIC"
	TopicTrace             = "RMQ_SYS_TRACE_TOPIC"
	TopicSelfTest          = "SELF_TEST_TOPIC"
	TopicOffsetMoved       = "OFFSET_MOVED_EVENT"
	TopicCheckpoint        = "CHECKPOINT_TOPIC"
	TopicWheelTimer        = "rmq_sys_wheel_timer"
	TopicReplySuffix       = "_REPLY_TOPIC"                // after the cluster's name
	TopicRevivePrefix      = "rmq_sys_REVIVE_LOG_"         // before the cluster's name
	TopicSyncMembersPrefix = "rmq_sys_SYNC_BROKER_MEMBER_" // before the broker's name
)

// Groups of the system (RocketMQ: MixAll).
const (
	GroupDefaultConsumer  = "DEFAULT_CONSUMER"
	GroupDefaultProducer  = "DEFAULT_PRODUCER"
	GroupTools            = "TOOLS_CONSUMER"
	GroupSchedule         = "SCHEDULE_CONSUMER"
	GroupFilterServer     = "FILTERSRV_CONSUMER"
	GroupMonitor          = "__MONITOR_CONSUMER"
	GroupInnerProducer    = "CLIENT_INNER_PRODUCER"
	GroupSelfTestProducer = "SELF_TEST_P_GROUP"
	GroupSelfTestConsumer = "SELF_TEST_C_GROUP"
	GroupONSProxy         = "CID_ONS-HTTP-PROXY"
	GroupONSPermission    = "CID_ONSAPI_PERMISSION"
	GroupONSOwner         = "CID_ONSAPI_OWNER"
	GroupONSPull          = "CID_ONSAPI_PULL"
	GroupSysTrans         = "CID_RMQ_SYS_TRANS"
)

// nameCharacters is the rule for topics and groups as it is quoted to people.
const nameCharacters = "^[%|a-zA-Z0-9_-]+$"

// Longest names, in characters.
const (
	MaxTopicLength      = 127
	MaxRetryTopicLength = 255 // of retry and dead-letter topics
	MaxGroupLength      = 120
)

var systemTopics = set(TopicDefault, TopicSchedule, TopicBenchmark, TopicTransHalf, TopicTransOpHalf, TopicTrace,
	TopicTransCheckMax, TopicSelfTest, TopicOffsetMoved, TopicCheckpoint)

var notSendable = set(TopicSchedule, TopicTransHalf, TopicTransOpHalf, TopicTransCheckMax, TopicSelfTest, TopicOffsetMoved)

// systemGroups are those that namespaces leave alone, beside the prefix.
var systemGroups = set(GroupDefaultConsumer, GroupDefaultProducer, GroupTools, GroupSchedule, GroupFilterServer, GroupMonitor,
	GroupInnerProducer, GroupSelfTestProducer, GroupSelfTestConsumer, GroupONSProxy, GroupONSPermission, GroupONSOwner, GroupONSPull)

func set(names ...string) map[string]struct{} {
	m := make(map[string]struct{}, len(names))
	for _, n := range names {
		m[n] = struct{}{}
	}
	return m
}

// CheckTopic refuses a topic name that is blank, too long or has characters not allowed. The error
// is an *Error with InvalidParameter and RocketMQ's text.
func CheckTopic(topic string) error {
	if legalName(topic) && len(topic) <= MaxTopicLength {
		return nil
	}
	switch retry := IsRetryTopic(topic) || IsDeadLetterTopic(topic); {
	case isBlank(topic):
		return &Error{InvalidParameter, "The specified topic is blank."}
	case !legalName(topic):
		return &Error{InvalidParameter, "The specified topic: " + topic + ", contains illegal characters, allowing only " + nameCharacters}
	case retry && len(topic) > MaxRetryTopicLength:
		return &Error{InvalidParameter, "The specified topic is DLQ or Retry topic: " + topic + ", and it's longer than topic max length: 255"}
	case !retry:
		return &Error{InvalidParameter, "The specified topic: " + topic + ", is longer than topic max length: 127"}
	}
	return nil
}

// CheckGroup refuses a group name like CheckTopic does a topic's.
func CheckGroup(group string) error {
	switch {
	case isBlank(group):
		return &Error{InvalidParameter, "The specified group is blank."}
	case !legalName(group):
		return &Error{InvalidParameter, "The specified group: " + group + ", contains illegal characters, allowing only " + nameCharacters}
	case len(group) > MaxGroupLength:
		return &Error{InvalidParameter, "The specified group: " + group + ", is longer than group max length: 120"}
	}
	return nil
}

// legalName tells whether name is not empty and has only characters allowed in topics and groups.
func legalName(name string) bool {
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '_', c == '-', c == '%', c == '|':
		default:
			return false
		}
	}
	return name != ""
}

// isBlank tells whether there is nothing to see in s, by Java's notion of white space.
func isBlank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !javaWhitespace(r) }) < 0
}

func javaWhitespace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r >= 0x1C && r <= 0x1F:
		return true
	case r == 0xA0, r == 0x2007, r == 0x202F: // no-break spaces are none
		return false
	}
	return unicode.Is(unicode.Z, r)
}

// IsSystemTopic tells whether the topic belongs to the system on every broker. The names that a
// broker adds at its start (its own, its cluster's) are known to that broker only.
func IsSystemTopic(topic string) bool {
	_, ok := systemTopics[topic]
	return ok || strings.HasPrefix(topic, SystemTopicPrefix)
}

// SystemTopicConflict is the refusal to create or delete a topic of the system.
func SystemTopicConflict(topic string) *Error {
	return &Error{InvalidParameter, "The topic[" + topic + "] is conflict with system topic."}
}

// IsNotSendable tells whether clients may not send to the topic.
func IsNotSendable(topic string) bool {
	_, ok := notSendable[topic]
	return ok
}

// SendForbidden is the refusal to send to such a topic.
func SendForbidden(topic string) *Error {
	return &Error{NoPermission, "Sending message to topic[" + topic + "] is forbidden."}
}

// IsSystemGroup tells whether the group is internal to the brokers.
func IsSystemGroup(group string) bool { return strings.HasPrefix(group, SystemGroupPrefix) }

// IsPredefinedGroup tells whether the group is one of those that every cluster knows.
func IsPredefinedGroup(group string) bool {
	_, ok := systemGroups[group]
	return ok || IsSystemGroup(group)
}

// RetryTopic is where messages go that a group is to get again.
func RetryTopic(group string) string { return RetryPrefix + group }

// DeadLetterTopic is where messages go that a group did not manage.
func DeadLetterTopic(group string) string { return DeadLetterPrefix + group }

// IsRetryTopic, IsDeadLetterTopic and IsLMQ tell kinds of topics by their prefix.
func IsRetryTopic(topic string) bool      { return strings.HasPrefix(topic, RetryPrefix) }
func IsDeadLetterTopic(topic string) bool { return strings.HasPrefix(topic, DeadLetterPrefix) }
func IsLMQ(topic string) bool             { return strings.HasPrefix(topic, LMQPrefix) }

// GroupOfRetryTopic gives the group of a retry topic; of others the name itself.
func GroupOfRetryTopic(topic string) string { return strings.TrimPrefix(topic, RetryPrefix) }

// ReplyTopic is the cluster's topic of request-reply answers.
func ReplyTopic(cluster string) string { return cluster + TopicReplySuffix }
