// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// Requests of administrators to name servers: 205, 216, 217, 224, 327. Requests 106, 206, 304, 311, 312, 313 and 319
// have no header; the body of 318 and of the answer to 319 is a text of properties.

// WipeWritePermRequest is the header of WIPE_WRITE_PERM_OF_BROKER (205).
type WipeWritePermRequest struct {
	BrokerName string `header:"brokerName"`
}

// WipeWritePermResponse says how many topics the broker has.
type WipeWritePermResponse struct {
	WipeTopicCount int32 `header:"wipeTopicCount"`
}

// AddWritePermRequest is the header of ADD_WRITE_PERM_OF_BROKER (327).
type AddWritePermRequest struct {
	BrokerName string `header:"brokerName"`
}

// AddWritePermResponse says how many topics the broker has.
type AddWritePermResponse struct {
	AddTopicCount int32 `header:"addTopicCount"`
}

// DeleteTopicInNameServerRequest is the header of DELETE_TOPIC_IN_NAMESRV (216); without a cluster the topic goes from
// all of them.
type DeleteTopicInNameServerRequest struct {
	Topic       string `header:"topic"`
	ClusterName string `header:"clusterName,omitempty"`
}

// RegisterTopicInNameServerRequest is the header of REGISTER_TOPIC_IN_NAMESRV (217); the body is a TopicRouteData, of
// which the queues are taken.
type RegisterTopicInNameServerRequest struct {
	Topic string `header:"topic,required"`
}

// TopicsByClusterRequest is the header of GET_TOPICS_BY_CLUSTER (224), answered by a TopicList.
type TopicsByClusterRequest struct {
	Cluster string `header:"cluster"`
}
