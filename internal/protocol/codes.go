// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package protocol

import "strconv"

// Request codes (RocketMQ: RequestCode), by number. The comment says who asks whom; codes that
// no release of the last years answers are marked "no handler" and are listed so that they can be named in logs.
const (
	SendMessage                          int32 = 10     // producer to broker
	PullMessage                          int32 = 11     // consumer to broker
	QueryMessage                         int32 = 12     // admin, consumer to broker
	QueryBrokerOffset                    int32 = 13     // no handler
	QueryConsumerOffset                  int32 = 14     // consumer, admin to broker
	UpdateConsumerOffset                 int32 = 15     // consumer, admin to broker
	UpdateAndCreateTopic                 int32 = 17     // admin, producer to broker
	UpdateAndCreateTopicList             int32 = 18     // admin to broker
	GetAllTopicConfig                    int32 = 21     // slave broker, admin to broker
	GetTopicConfigList                   int32 = 22     // no handler
	GetTopicNameList                     int32 = 23     // no handler
	UpdateBrokerConfig                   int32 = 25     // admin to broker
	GetBrokerConfig                      int32 = 26     // admin to broker
	TriggerDeleteFiles                   int32 = 27     // no handler
	GetBrokerRuntimeInfo                 int32 = 28     // admin to broker
	SearchOffsetByTimestamp              int32 = 29     // consumer, admin to broker
	GetMaxOffset                         int32 = 30     // consumer, admin to broker
	GetMinOffset                         int32 = 31     // consumer, admin to broker
	GetEarliestMsgStoreTime              int32 = 32     // consumer, admin to broker
	ViewMessageByID                      int32 = 33     // admin, producer, consumer to broker
	HeartBeat                            int32 = 34     // producer, consumer to broker
	UnregisterClient                     int32 = 35     // producer, consumer to broker
	ConsumerSendMsgBack                  int32 = 36     // consumer to broker
	EndTransaction                       int32 = 37     // producer to broker
	GetConsumerListByGroup               int32 = 38     // consumer, admin to broker
	CheckTransactionState                int32 = 39     // broker to producer
	NotifyConsumerIDsChanged             int32 = 40     // broker to consumer
	LockBatchMQ                          int32 = 41     // consumer to broker
	UnlockBatchMQ                        int32 = 42     // consumer to broker
	GetAllConsumerOffset                 int32 = 43     // slave broker, admin to broker
	GetAllDelayOffset                    int32 = 45     // slave broker to broker
	CheckClientConfig                    int32 = 46     // consumer to broker
	GetClientConfig                      int32 = 47     // no handler
	UpdateAndCreateACLConfig             int32 = 50     // admin to broker
	DeleteACLConfig                      int32 = 51     // admin to broker
	GetBrokerClusterACLInfo              int32 = 52     // admin to broker
	UpdateGlobalWhiteAddrsConfig         int32 = 53     // admin to broker
	GetBrokerClusterACLConfig            int32 = 54     // admin to broker
	GetTimerCheckPoint                   int32 = 60     // slave broker to broker
	GetTimerMetrics                      int32 = 61     // slave broker to broker
	PutKVConfig                          int32 = 100    // admin to name server
	GetKVConfig                          int32 = 101    // admin, consumer to name server
	DeleteKVConfig                       int32 = 102    // admin to name server
	RegisterBroker                       int32 = 103    // broker to name server
	UnregisterBroker                     int32 = 104    // broker to name server
	GetRouteInfoByTopic                  int32 = 105    // producer, consumer, broker, admin, proxy to name server
	GetBrokerClusterInfo                 int32 = 106    // admin, broker to name server
	UpdateAndCreateSubscriptionGroup     int32 = 200    // admin to broker
	GetAllSubscriptionGroupConfig        int32 = 201    // slave broker, admin to broker
	GetTopicStatsInfo                    int32 = 202    // admin to broker
	GetConsumerConnectionList            int32 = 203    // admin to broker
	GetProducerConnectionList            int32 = 204    // admin to broker
	WipeWritePermOfBroker                int32 = 205    // admin to name server
	GetAllTopicListFromNameServer        int32 = 206    // admin, consumer to name server
	DeleteSubscriptionGroup              int32 = 207    // admin to broker
	GetConsumeStats                      int32 = 208    // admin to broker
	SuspendConsumer                      int32 = 209    // no handler
	ResumeConsumer                       int32 = 210    // no handler
	ResetConsumerOffsetInConsumer        int32 = 211    // no handler
	ResetConsumerOffsetInBroker          int32 = 212    // no handler
	AdjustConsumerThreadPool             int32 = 213    // no handler
	WhoConsumeTheMessage                 int32 = 214    // no handler
	DeleteTopicInBroker                  int32 = 215    // admin to broker
	DeleteTopicInNameServer              int32 = 216    // admin to name server
	RegisterTopicInNameServer            int32 = 217    // admin to name server
	GetKVListByNamespace                 int32 = 219    // admin to name server
	ResetConsumerClientOffset            int32 = 220    // broker to consumer
	GetConsumerStatusFromClient          int32 = 221    // broker to consumer
	InvokeBrokerToResetOffset            int32 = 222    // admin to broker
	InvokeBrokerToGetConsumerStatus      int32 = 223    // admin to broker
	GetTopicsByCluster                   int32 = 224    // admin to name server
	UpdateAndCreateSubscriptionGroupList int32 = 225    // admin to broker
	QueryTopicConsumeByWho               int32 = 300    // admin to broker
	RegisterFilterServer                 int32 = 301    // no handler
	RegisterMessageFilterClass           int32 = 302    // no handler
	QueryConsumeTimeSpan                 int32 = 303    // admin to broker
	GetSystemTopicListFromNS             int32 = 304    // admin to name server
	GetSystemTopicListFromBroker         int32 = 305    // admin to broker
	CleanExpiredConsumeQueue             int32 = 306    // admin to broker
	GetConsumerRunningInfo               int32 = 307    // admin to broker, broker to consumer
	QueryCorrectionOffset                int32 = 308    // admin to broker
	ConsumeMessageDirectly               int32 = 309    // admin to broker, broker to consumer
	SendMessageV2                        int32 = 310    // producer to broker
	GetUnitTopicList                     int32 = 311    // admin to name server
	GetHasUnitSubTopicList               int32 = 312    // admin to name server
	GetHasUnitSubUnUnitTopicList         int32 = 313    // admin to name server
	CloneGroupOffset                     int32 = 314    // admin to broker
	ViewBrokerStatsData                  int32 = 315    // admin to broker
	CleanUnusedTopic                     int32 = 316    // admin to broker
	GetBrokerConsumeStats                int32 = 317    // admin to broker
	UpdateNameServerConfig               int32 = 318    // admin to name server
	GetNameServerConfig                  int32 = 319    // admin to name server
	SendBatchMessage                     int32 = 320    // producer to broker
	QueryConsumeQueue                    int32 = 321    // admin to broker
	QueryDataVersion                     int32 = 322    // broker to name server
	ResumeCheckHalfMessage               int32 = 323    // admin to broker
	SendReplyMessage                     int32 = 324    // consumer to broker
	SendReplyMessageV2                   int32 = 325    // consumer to broker
	PushReplyMessageToClient             int32 = 326    // broker to producer
	AddWritePermOfBroker                 int32 = 327    // admin to name server
	GetAllProducerInfo                   int32 = 328    // admin to broker
	DeleteExpiredCommitLog               int32 = 329    // admin to broker
	QueryTopicsByConsumer                int32 = 343    // admin to broker
	QuerySubscriptionByConsumer          int32 = 345    // admin to broker
	GetTopicConfig                       int32 = 351    // admin, proxy to broker
	GetSubscriptionGroupConfig           int32 = 352    // admin, proxy to broker
	UpdateAndGetGroupForbidden           int32 = 353    // admin to broker
	CheckRocksDBCQWriteProgress          int32 = 354    // admin to broker
	ExportRocksDBConfigToJSON            int32 = 355    // admin to broker
	LitePullMessage                      int32 = 361    // consumer to broker
	RecallMessage                        int32 = 370    // producer to broker
	QueryAssignment                      int32 = 400    // consumer to broker
	SetMessageRequestMode                int32 = 401    // admin to broker
	GetAllMessageRequestMode             int32 = 402    // slave broker to broker
	UpdateAndCreateStaticTopic           int32 = 513    // admin to broker
	GetBrokerMemberGroup                 int32 = 901    // broker to name server
	AddBroker                            int32 = 902    // admin to broker container
	RemoveBroker                         int32 = 903    // admin to broker container
	BrokerHeartbeat                      int32 = 904    // broker to name server, controller
	NotifyMinBrokerIDChange              int32 = 905    // name server to broker
	ExchangeBrokerHAInfo                 int32 = 906    // broker to broker
	GetBrokerHAStatus                    int32 = 907    // admin to broker
	ResetMasterFlushOffset               int32 = 908    // broker to broker
	ControllerAlterSyncStateSet          int32 = 1001   // broker to controller
	ControllerElectMaster                int32 = 1002   // broker, admin to controller
	ControllerRegisterBroker             int32 = 1003   // broker to controller
	ControllerGetReplicaInfo             int32 = 1004   // broker to controller
	ControllerGetMetadataInfo            int32 = 1005   // broker, admin to controller
	ControllerGetSyncStateData           int32 = 1006   // broker, admin to controller
	GetBrokerEpochCache                  int32 = 1007   // admin to broker
	NotifyBrokerRoleChanged              int32 = 1008   // controller to broker
	UpdateControllerConfig               int32 = 1009   // admin to controller
	GetControllerConfig                  int32 = 1010   // admin to controller
	CleanBrokerData                      int32 = 1011   // broker, admin to controller
	ControllerGetNextBrokerID            int32 = 1012   // broker to controller
	ControllerApplyBrokerID              int32 = 1013   // broker to controller
	BrokerCloseChannelRequest            int32 = 1014   // inside the controller's raft log
	CheckNotActiveBrokerRequest          int32 = 1015   // inside the controller's raft log
	GetBrokerLiveInfoRequest             int32 = 1016   // inside the controller's raft log
	GetSyncStateDataRequest              int32 = 1017   // inside the controller's raft log
	RaftBrokerHeartBeatEventRequest      int32 = 1018   // inside the controller's raft log
	UpdateColdDataFlowCtrConfig          int32 = 2001   // admin to broker
	RemoveColdDataFlowCtrConfig          int32 = 2002   // admin to broker
	GetColdDataFlowCtrInfo               int32 = 2003   // admin to broker
	SetCommitLogReadMode                 int32 = 2004   // admin to broker
	AuthCreateUser                       int32 = 3001   // admin to broker
	AuthUpdateUser                       int32 = 3002   // admin to broker
	AuthDeleteUser                       int32 = 3003   // admin to broker
	AuthGetUser                          int32 = 3004   // admin to broker
	AuthListUser                         int32 = 3005   // admin to broker
	AuthCreateACL                        int32 = 3006   // admin to broker
	AuthUpdateACL                        int32 = 3007   // admin to broker
	AuthDeleteACL                        int32 = 3008   // admin to broker
	AuthGetACL                           int32 = 3009   // admin to broker
	AuthListACL                          int32 = 3010   // admin to broker
	SwitchTimerEngine                    int32 = 5001   // admin to broker
	PopMessage                           int32 = 200050 // consumer, proxy to broker
	AckMessage                           int32 = 200051 // consumer, proxy to broker
	PeekMessage                          int32 = 200052 // admin, proxy to broker
	ChangeMessageInvisibleTime           int32 = 200053 // consumer, proxy to broker
	Notification                         int32 = 200054 // proxy to broker
	PollingInfo                          int32 = 200055 // admin to broker
	PopRollback                          int32 = 200056 // admin to broker
	PopLiteMessage                       int32 = 200070 // proxy, admin to broker
	LiteSubscriptionCtl                  int32 = 200071 // proxy, admin to broker
	AckLiteMessage                       int32 = 200072 // proxy, admin to broker
	NotifyUnsubscribeLite                int32 = 200073 // broker to proxy
	GetBrokerLiteInfo                    int32 = 200074 // proxy, admin to broker
	GetParentTopicInfo                   int32 = 200075 // proxy, admin to broker
	GetLiteTopicInfo                     int32 = 200076 // proxy, admin to broker
	GetLiteClientInfo                    int32 = 200077 // proxy, admin to broker
	GetLiteGroupInfo                     int32 = 200078 // proxy, admin to broker
	TriggerLiteDispatch                  int32 = 200079 // proxy, admin to broker
	BatchAckMessage                      int32 = 200151 // consumer, proxy to broker
	CheckConsumerGroups                  int32 = 900001 // admin to broker; Goddard's own: a RocketMQ broker does not know it
)

// Response codes (RocketMQ: ResponseCode, RemotingSysResponseCode), by number. The negative ones
// never travel: they are what a broker's own client reports. Numbers 209 to 211 meant failures of
// the plain ACL requests (50, 51, 53) up to 5.2.
const (
	Success                              int32 = 0
	SystemError                          int32 = 1
	SystemBusy                           int32 = 2
	RequestCodeNotSupported              int32 = 3
	TransactionFailed                    int32 = 4
	FlushDiskTimeout                     int32 = 10
	SlaveNotAvailable                    int32 = 11
	FlushSlaveTimeout                    int32 = 12
	MessageIllegal                       int32 = 13
	ServiceNotAvailable                  int32 = 14
	VersionNotSupported                  int32 = 15
	NoPermission                         int32 = 16
	TopicNotExist                        int32 = 17
	TopicExistAlready                    int32 = 18
	PullNotFound                         int32 = 19
	PullRetryImmediately                 int32 = 20
	PullOffsetMoved                      int32 = 21
	QueryNotFound                        int32 = 22
	SubscriptionParseFailed              int32 = 23
	SubscriptionNotExist                 int32 = 24
	SubscriptionNotLatest                int32 = 25
	SubscriptionGroupNotExist            int32 = 26
	FilterDataNotExist                   int32 = 27
	FilterDataNotLatest                  int32 = 28
	InvalidParameter                     int32 = 29
	TransactionShouldCommit              int32 = 200
	TransactionShouldRollback            int32 = 201
	TransactionStateUnknow               int32 = 202
	TransactionStateGroupWrong           int32 = 203
	NoBuyerID                            int32 = 204
	NotInCurrentUnit                     int32 = 205
	ConsumerNotOnline                    int32 = 206
	ConsumeMsgTimeout                    int32 = 207
	NoMessage                            int32 = 208
	PollingFull                          int32 = 209
	PollingTimeout                       int32 = 210
	BrokerNotExist                       int32 = 211
	BrokerDispatchNotComplete            int32 = 212
	BroadcastConsumption                 int32 = 213
	FlowControl                          int32 = 215
	NotLeaderForQueue                    int32 = 501
	IllegalOperation                     int32 = 604
	GoAway                               int32 = 1500
	ControllerFencedMasterEpoch          int32 = 2000
	ControllerFencedSyncStateSetEpoch    int32 = 2001
	ControllerInvalidMaster              int32 = 2002
	ControllerInvalidReplicas            int32 = 2003
	ControllerMasterNotAvailable         int32 = 2004
	ControllerInvalidRequest             int32 = 2005
	ControllerBrokerNotAlive             int32 = 2006
	ControllerNotLeader                  int32 = 2007
	ControllerBrokerMetadataNotExist     int32 = 2008
	ControllerInvalidCleanBrokerMetadata int32 = 2009
	ControllerBrokerNeedToBeRegistered   int32 = 2010
	ControllerMasterStillExist           int32 = 2011
	ControllerElectMasterFailed          int32 = 2012
	ControllerAlterSyncStateSetFailed    int32 = 2013
	ControllerBrokerIDInvalid            int32 = 2014
	ControllerJRaftInternalError         int32 = 2015
	ControllerBrokerLiveInfoNotExists    int32 = 2016
	LMQQuotaExceeded                     int32 = 2017
	LiteSubscriptionQuotaExceeded        int32 = 2018
	UserNotExist                         int32 = 3001
	PolicyNotExist                       int32 = 3002
	RPCUnknown                           int32 = -1000
	RPCAddrIsNull                        int32 = -1002
	RPCSendToChannelFailed               int32 = -1004
	RPCTimeOut                           int32 = -1006
)

// CodeName gives RocketMQ's name of a request code, "SEND_MESSAGE_V2", or the number as text.
func CodeName(code int32) string { return nameOf(requestNames, code) }

// ResponseName gives RocketMQ's name of a response code, "TOPIC_NOT_EXIST", or the number as text.
func ResponseName(code int32) string { return nameOf(responseNames, code) }

func nameOf(names map[int32]string, code int32) string {
	if n, ok := names[code]; ok {
		return n
	}
	return strconv.Itoa(int(code))
}
