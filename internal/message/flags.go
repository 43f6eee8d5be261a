// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package message

// Bits of a message's sysFlag (RocketMQ: MessageSysFlag).
const (
	FlagCompressed      int32 = 0x1 // the body is packed with the codec of CompressionMask
	FlagMultiTags       int32 = 0x2
	TransactionMask     int32 = 0xC // 0: no part of a transaction
	TransactionPrepared int32 = 0x4
	TransactionCommit   int32 = 0x8
	TransactionRollback int32 = 0xC
	FlagBornHostV6      int32 = 0x10
	FlagStoreHostV6     int32 = 0x20
	FlagNeedUnwrap      int32 = 0x40 // consumers take an inner batch apart
	FlagInnerBatch      int32 = 0x80 // the body is a batch, stored as one message
	CompressionMask     int32 = 0x700
)

// Codecs in CompressionMask. Senders before 4.9.4 leave it 0, which is zlib too.
const (
	CompressionLZ4  int32 = 0x100 // frame format
	CompressionZstd int32 = 0x200
	CompressionZlib int32 = 0x300
)

// Transaction gives the transaction bits of sysFlag.
func Transaction(sysFlag int32) int32 { return sysFlag & TransactionMask }

// WithTransaction replaces the transaction bits of sysFlag.
func WithTransaction(sysFlag, transaction int32) int32 {
	return sysFlag&^TransactionMask | transaction
}
