// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

import "strings"

// Property names (RocketMQ: MessageConst). Who sets them: P the producer, C the consumer's client, B the broker.
const (
	PropKeys              = "KEYS"                           // P: index keys, separated by blanks
	PropTags              = "TAGS"                           // P
	PropWait              = "WAIT"                           // P: "false" does not wait for disk and replica
	PropDelay             = "DELAY"                          // P, B: delay level
	PropUniqueKey         = "UNIQ_KEY"                       // P: the client's message id
	PropRealTopic         = "REAL_TOPIC"                     // B: where a delayed or half message belongs
	PropRealQueueID       = "REAL_QID"                       // B
	PropRetryTopic        = "RETRY_TOPIC"                    // B: topic before the first retry
	PropOriginID          = "ORIGIN_MESSAGE_ID"              // B: id before the first retry
	PropReconsumeTime     = "RECONSUME_TIME"                 // C: times consumed, when a client sends it back itself
	PropMaxReconsumeTimes = "MAX_RECONSUME_TIMES"            // C
	PropTransaction       = "TRAN_MSG"                       // P: "true" marks a half message
	PropProducerGroup     = "PGROUP"                         // P
	PropTransactionID     = "__transactionId__"              // B
	PropPreparedQueueOff  = "TRAN_PREPARED_QUEUE_OFFSET"     // B: first offset of a half message checked again
	PropCheckTimes        = "TRANSACTION_CHECK_TIMES"        // B
	PropCheckImmunity     = "CHECK_IMMUNITY_TIME_IN_SECONDS" // P: not checked before
	PropCluster           = "CLUSTER"                        // B
	PropRegion            = "MSG_REGION"                     // B
	PropTraceOn           = "TRACE_ON"                       // B
	PropInstanceID        = "INSTANCE_ID"                    // P: namespace
	PropPopCK             = "POP_CK"                         // B: handle of a popped message
	PropPopCKOffset       = "POP_CK_OFFSET"                  // B
	PropFirstPopTime      = "1ST_POP_TIME"                   // B
	PropInnerNum          = "INNER_NUM"                      // B: messages in an inner batch
	PropInnerBase         = "INNER_BASE"                     // B: first queue offset of an inner batch
	PropMultiDispatch     = "INNER_MULTI_DISPATCH"           // P: light topics that get the message too
	PropMultiQueueOffset  = "INNER_MULTI_QUEUE_OFFSET"       // B: its offset in each
	PropShardingKey       = "__SHARDINGKEY"                  // P: order key (Go clients: SHARDING_KEY)
	PropMessageType       = "MSG_TYPE"                       // P: "reply"
	PropCorrelationID     = "CORRELATION_ID"                 // P: of request and reply
	PropReplyTo           = "REPLY_TO_CLIENT"                // P: client id that gets the reply
	PropTTL               = "TTL"                            // P: ms a request waits
	PropArriveTime        = "ARRIVE_TIME"                    // B
	PropPushReplyTime     = "PUSH_REPLY_TIME"                // B
	PropBornHost          = "__BORNHOST"                     // proxy: the client's own address
	PropBornTimestamp     = "BORN_TIMESTAMP"                 // proxy
	PropMinOffset         = "MIN_OFFSET"                     // C: of the queue, when received
	PropMaxOffset         = "MAX_OFFSET"                     // C
	PropConsumeStart      = "CONSUME_START_TIME"             // C
	PropTimerDelaySec     = "TIMER_DELAY_SEC"                // P
	PropTimerDelayMs      = "TIMER_DELAY_MS"                 // P
	PropTimerDeliverMs    = "TIMER_DELIVER_MS"               // P
	PropTimerOutMs        = "TIMER_OUT_MS"                   // B: when due
	PropTimerEnqueueMs    = "TIMER_ENQUEUE_MS"               // B
	PropTimerDequeueMs    = "TIMER_DEQUEUE_MS"               // B
	PropTimerRollTimes    = "TIMER_ROLL_TIMES"               // B
	PropTimerDelUniqueKey = "TIMER_DEL_UNIQKEY"              // B: message to recall
	PropTimerDelayLevel   = "TIMER_DELAY_LEVEL"              // B
	PropDLQOriginTopic    = "DLQ_ORIGIN_TOPIC"               // tools: topic of a dead letter that was sent again
	PropDLQOriginID       = "DLQ_ORIGIN_MESSAGE_ID"          // tools: its id
	PropForwardQueueID    = "PROPERTY_FORWARD_QUEUE_ID"      // B: static topics
	PropRedirect          = "REDIRECT"                       // B
	PropFailureReason     = "__FAILURE_REASON"               // C: why its last attempt failed (Goddard)
	PropCRC32             = "__CRC32#"                       // B: checksum of the record, its last property
	PropTopicSysFlag      = "__RMQ.TRANSIENT.TOPIC_SYS_FLAG" // C, never sent
	PropGroupSysFlag      = "__RMQ.TRANSIENT.GROUP_SYS_FLAG" // C, never sent
)

// reserved are the names that RocketMQ's clients keep for themselves (MessageConst.STRING_HASH_SET), and some more that
// clients, proxies and brokers set.
var reserved = func() map[string]struct{} {
	names := map[string]struct{}{}
	for name := range strings.FieldsSeq(`
		KEYS TAGS WAIT DELAY RETRY_TOPIC REAL_TOPIC REAL_QID TRAN_MSG PGROUP MIN_OFFSET MAX_OFFSET BUYER_ID
		ORIGIN_MESSAGE_ID TRANSFER_FLAG CORRECTION_FLAG MQ2_FLAG RECONSUME_TIME MSG_REGION TRACE_ON UNIQ_KEY
		EXTEND_UNIQ_INFO MAX_RECONSUME_TIMES CONSUME_START_TIME TRAN_PREPARED_QUEUE_OFFSET TRANSACTION_CHECK_TIMES
		CHECK_IMMUNITY_TIME_IN_SECONDS INSTANCE_ID CORRELATION_ID REPLY_TO_CLIENT TTL ARRIVE_TIME PUSH_REPLY_TIME
		CLUSTER MSG_TYPE POP_CK POP_CK_OFFSET 1ST_POP_TIME __SHARDINGKEY INNER_MULTI_DISPATCH
		INNER_MULTI_QUEUE_OFFSET INNER_NUM INNER_BASE TRACE_CONTEXT DUP_INFO REDIRECT PROPERTY_FORWARD_QUEUE_ID
		TIMER_DELAY_SEC TIMER_DELAY_MS TIMER_DELIVER_MS TIMER_ENQUEUE_MS TIMER_DEQUEUE_MS TIMER_ROLL_TIMES
		TIMER_OUT_MS TIMER_DEL_UNIQKEY TIMER_DELAY_LEVEL __STARTDELIVERTIME __transactionId__ __BORNHOST
		BORN_TIMESTAMP __CRC32# DLQ_ORIGIN_TOPIC DLQ_ORIGIN_MESSAGE_ID __FAILURE_REASON
		__RMQ.TRANSIENT.TOPIC_SYS_FLAG __RMQ.TRANSIENT.GROUP_SYS_FLAG`) {
		names[name] = struct{}{}
	}
	return names
}()

// IsReserved tells whether the property is none of an application's own.
func IsReserved(name string) bool {
	_, ok := reserved[name]
	return ok
}

// KeySeparator stands between the keys of PropKeys.
const KeySeparator = " "
