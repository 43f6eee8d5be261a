// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

// Requests by which brokers tell name servers that they are there: 103, 104, 322, 901, 904, and 905 the other way.

// RegisterBrokerRequest is the header of REGISTER_BROKER (103); its body is read by DecodeRegisterBody.
type RegisterBrokerRequest struct {
	BrokerName   string `header:"brokerName,required"`
	BrokerAddr   string `header:"brokerAddr,required"` // host:port for clients
	ClusterName  string `header:"clusterName,required"`
	HAServerAddr string `header:"haServerAddr,omitempty"` // host:port for slaves
	BrokerID     int64  `header:"brokerId,required"`      // 0: master
	// HeartbeatTimeoutMillis is how long the registration holds without news; nil: 120 s.
	HeartbeatTimeoutMillis *int64 `header:"heartbeatTimeoutMillis"`
	// EnableActingMaster: slaves may stand in for a lost master; nil: a broker that does not know of it.
	EnableActingMaster *bool  `header:"enableActingMaster"`
	Compressed         bool   `header:"compressed"` // the body is in the compressed form
	BodyCRC32          int32  `header:"bodyCrc32"`  // CRC-32 & 0x7FFFFFFF of the body as sent; 0: not checked
	ZoneName           string `header:"__ZONE_NAME,omitempty"`
}

// RegisterBrokerResponse is the header of its answer: where a slave finds its master, absent for masters and while no
// master is live. The body is the KVTable of ORDER_TOPIC_CONFIG, if there is one.
type RegisterBrokerResponse struct {
	HAServerAddr string `header:"haServerAddr,omitempty"`
	MasterAddr   string `header:"masterAddr,omitempty"`
}

// UnregisterBrokerRequest is the header of UNREGISTER_BROKER (104).
type UnregisterBrokerRequest struct {
	BrokerName  string `header:"brokerName,required"`
	BrokerAddr  string `header:"brokerAddr,required"`
	ClusterName string `header:"clusterName,required"`
	BrokerID    int64  `header:"brokerId,required"`
}

// QueryDataVersionRequest is the header of QUERY_DATA_VERSION (322); its body is the broker's DataVersion. The question
// also counts as a sign of life.
type QueryDataVersionRequest struct {
	BrokerName  string `header:"brokerName,required"`
	BrokerAddr  string `header:"brokerAddr,required"`
	ClusterName string `header:"clusterName,required"`
	BrokerID    int64  `header:"brokerId,required"`
}

// QueryDataVersionResponse is the header of its answer; the body is the DataVersion that the name server has, absent
// when it does not know the broker.
type QueryDataVersionResponse struct {
	Changed bool `header:"changed"`
}

// BrokerHeartbeatRequest is the header of BROKER_HEARTBEAT (904): a sign of life and, for controllers, what an election
// needs to know.
type BrokerHeartbeatRequest struct {
	ClusterName            string `header:"clusterName,required"`
	BrokerAddr             string `header:"brokerAddr,required"`
	BrokerName             string `header:"brokerName,required"`
	BrokerID               *int64 `header:"brokerId"`
	Epoch                  *int32 `header:"epoch"`
	MaxOffset              *int64 `header:"maxOffset"`
	ConfirmOffset          *int64 `header:"confirmOffset"`
	HeartbeatTimeoutMillis *int64 `header:"heartbeatTimeoutMills"` // sic
	ElectionPriority       *int32 `header:"electionPriority"`
}

// BrokerMemberGroupRequest is the header of GET_BROKER_MEMBER_GROUP (901), answered by a BrokerMemberGroupBody.
type BrokerMemberGroupRequest struct {
	ClusterName string `header:"clusterName"`
	BrokerName  string `header:"brokerName"`
}

// MinBrokerIDChange is the header of NOTIFY_MIN_BROKER_ID_CHANGE (905), sent oneway by name servers to the brokers of
// one name: which of them has the smallest id now, and the address that went or the replication address that came.
type MinBrokerIDChange struct {
	MinBrokerID       *int64 `header:"minBrokerId"`
	BrokerName        string `header:"brokerName,omitempty"` // name servers leave it out
	MinBrokerAddr     string `header:"minBrokerAddr,omitempty"`
	OfflineBrokerAddr string `header:"offlineBrokerAddr,omitempty"`
	HABrokerAddr      string `header:"haBrokerAddr,omitempty"`
}
