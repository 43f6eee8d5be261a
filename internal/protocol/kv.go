// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// Requests for the key-value settings that name servers keep: 100, 101, 102, 219.

// NamespaceOrderTopicConfig is the namespace that holds, per ordered topic, "broker-a:4;broker-b:4": which brokers have
// how many of its queues. It is the only one that name servers read themselves.
const NamespaceOrderTopicConfig = "ORDER_TOPIC_CONFIG"

// PutKVConfigRequest is the header of PUT_KV_CONFIG (100). Pointers, because a name server tells an empty text from
// none.
type PutKVConfigRequest struct {
	Namespace *string `header:"namespace"`
	Key       *string `header:"key"`
	Value     *string `header:"value"`
}

// GetKVConfigRequest is the header of GET_KV_CONFIG (101); QUERY_NOT_FOUND says that there is no such key.
type GetKVConfigRequest struct {
	Namespace string `header:"namespace"`
	Key       string `header:"key"`
}

// GetKVConfigResponse is the header of its answer.
type GetKVConfigResponse struct {
	Value *string `header:"value"`
}

// DeleteKVConfigRequest is the header of DELETE_KV_CONFIG (102).
type DeleteKVConfigRequest struct {
	Namespace string `header:"namespace"`
	Key       string `header:"key"`
}

// KVListRequest is the header of GET_KVLIST_BY_NAMESPACE (219), answered by a KVTable or QUERY_NOT_FOUND.
type KVListRequest struct {
	Namespace string `header:"namespace"`
}
