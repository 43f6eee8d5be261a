// SPDX-License-Identifier: Apache-2.0
// Copyright The Goddard Authors

package store

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FlushDiskType says when an append counts as done.
type FlushDiskType string

// Flush types.
const (
	SyncFlush  FlushDiskType = "SYNC_FLUSH"  // after fdatasync, grouped (the default)
	AsyncFlush FlushDiskType = "ASYNC_FLUSH" // after the write into the page cache
)

// Config of the store. Keys and meanings are RocketMQ's (MessageStoreConfig); so are the defaults, but flushDiskType.
type Config struct {
	Files     FilesConfig
	Flushing  FlushingConfig
	Limits    LimitsConfig
	Retention RetentionConfig
	Index     IndexConfig
	Recovery  RecoveryConfig
	Light     LightConfig
	Extra     ExtraConfig

	Root            string        `rmq:"storePathRootDir,restart"`
	CommitLogDir    string        `rmq:"storePathCommitLog,restart"`          // "": Root/commitlog; several folders, separated by commas, take turns
	OldLogDirs      string        `rmq:"readOnlyCommitLogStorePaths,restart"` // separated by commas: folders of the log in which no new files are made
	LogFileBytes    int64         `rmq:"mappedFileSizeCommitLog,min=4096,restart"`
	QueueFileBytes  int64         `rmq:"mappedFileSizeConsumeQueue,min=20,restart"`      // rounded up to whole units of 20
	BatchFileBytes  int64         `rmq:"mapperFileSizeBatchConsumeQueue,min=46,restart"` // likewise, of 46
	Flush           FlushDiskType `rmq:"flushDiskType,oneof=SYNC_FLUSH|ASYNC_FLUSH,restart"`
	MaxMessageBytes int32         `rmq:"maxMessageSize,min=1"` // of a body
}

// FilesConfig bounds what the store keeps in memory and open. The keys are Goddard's own.
type FilesConfig struct {
	TailBytes    int64 `rmq:"tailCacheBytes,min=0,restart"`         // of the log's end kept in memory for readers
	PendingBytes int64 `rmq:"pendingAppendBytes,min=65536,restart"` // that may wait for the disk before sends are answered busy
	AheadBytes   int64 `rmq:"preallocateBytes,min=4096,restart"`    // of disk reserved beyond the log's end
	OpenFiles    int32 `rmq:"maxOpenFiles,min=8,restart"`           // kept open though nobody uses them at the moment
}

// FlushingConfig says when what is written becomes durable.
type FlushingConfig struct {
	SyncTimeout     time.Duration `rmq:"syncFlushTimeout,ms,min=1,restart"`             // SYNC_FLUSH: longer ones are answered FLUSH_DISK_TIMEOUT
	Interval        time.Duration `rmq:"flushIntervalCommitLog,ms,min=1,restart"`       // ASYNC_FLUSH: how often
	LeastPages      int32         `rmq:"flushCommitLogLeastPages,min=0,restart"`        // ASYNC_FLUSH: pages of 4 KiB that are worth a flush
	Thorough        time.Duration `rmq:"flushCommitLogThoroughInterval,ms,restart"`     // ASYNC_FLUSH: flush even less after this time
	QueueThorough   time.Duration `rmq:"flushConsumeQueueThoroughInterval,ms,min=1000"` // at the latest a checkpoint is made after this time
	CheckpointBytes int64         `rmq:"checkpointBytes,min=65536"`                     // of log after which one is made; Goddard's own
}

// LimitsConfig bounds reads.
type LimitsConfig struct {
	MemoryBytes  int32 `rmq:"maxTransferBytesOnMessageInMemory,min=0"` // of messages in one read, when they are young
	MemoryCount  int32 `rmq:"maxTransferCountOnMessageInMemory,min=1"`
	DiskBytes    int32 `rmq:"maxTransferBytesOnMessageInDisk,min=0"` // and when they are old
	DiskCount    int32 `rmq:"maxTransferCountOnMessageInDisk,min=1"`
	MemoryRatio  int32 `rmq:"accessMessageInMemoryMaxRatio,min=0,max=100"` // percent of the machine's memory that the young ones fill
	FilterBytes  int32 `rmq:"maxFilterMessageSize,min=0"`                  // of queue entries that one read looks at
	TravelFiles  int32 `rmq:"travelCqFileNumWhenGetMessage,min=1"`         // queue files that one read looks into while it finds nothing
	QueryMatches int32 `rmq:"maxMsgsNumBatch,min=1"`                       // messages in the answer to a query by key
}

// RetentionConfig says when log files are removed and when a full disk stops writing.
type RetentionConfig struct {
	DeleteWhen     string        `rmq:"deleteWhen"`                            // hours of the day, local, separated by semicolons
	Reserved       time.Duration `rmq:"fileReservedTime,h,min=0"`              // a log file whose newest message is older may go
	ReservedBytes  int64         `rmq:"fileReservedBytes,min=0"`               // a store that takes more on disk loses its oldest log files, expired or not; 0: no limit. Goddard's own
	BatchMax       int32         `rmq:"deleteFileBatchMax,min=1"`              // log files in one round
	LogPause       time.Duration `rmq:"deleteCommitLogFilesInterval,ms,min=0"` // between two files
	QueuePause     time.Duration `rmq:"deleteConsumeQueueFilesInterval,ms,min=0"`
	Interval       time.Duration `rmq:"cleanResourceInterval,ms,min=100"` // between rounds
	MaxUsedPercent int32         `rmq:"diskMaxUsedSpaceRatio"`            // above it expired files go at any hour; kept in 10..95
	CleanPercent   int32         `rmq:"diskSpaceCleanForciblyRatio"`      // above it files go even if not expired; kept in 30..85
	WarningPercent int32         `rmq:"diskSpaceWarningLevelRatio"`       // above it nothing is written; kept in 35..90
	CleanForcibly  bool          `rmq:"cleanFileForciblyEnable"`
}

// IndexConfig of the index by key.
type IndexConfig struct {
	Enable  bool  `rmq:"messageIndexEnable,restart"`
	Slots   int32 `rmq:"maxHashSlotNum,min=1,restart"`
	Entries int32 `rmq:"maxIndexNum,min=2,restart"`
	Tags    bool  `rmq:"tagsIndexEnable,restart"` // also by tags, as RocketMQ 5.5 does always
}

// RecoveryConfig says what is checked in records.
type RecoveryConfig struct {
	CheckCRC   bool `rmq:"checkCRCOnRecover,restart"`  // of bodies
	AppendSeal bool `rmq:"enabledAppendPropCRC"`       // write a checksum over each record as its last property
	CheckSeal  bool `rmq:"forceVerifyPropCRC,restart"` // records without that checksum, or with a wrong one, are bad
}

// LightConfig of light queues, which get messages of other topics (RocketMQ: LMQ).
type LightConfig struct {
	Enable   bool `rmq:"enableLmq,restart"`           // messages get offsets in the queues that INNER_MULTI_DISPATCH names
	Dispatch bool `rmq:"enableMultiDispatch,restart"` // with Enable: and can be read there
}

// ExtraConfig of what is kept of messages beside the queues (RocketMQ: ConsumeQueueExt): their store time, and bits that
// tell which groups' filters match. What is there is read even when none is written.
type ExtraConfig struct {
	Enable    bool  `rmq:"enableConsumeQueueExt,restart"`
	FileBytes int64 `rmq:"mappedFileSizeConsumeQueueExt,min=64,restart"`
}

// DefaultConfig is RocketMQ's, but with sync flush.
func DefaultConfig() Config {
	return Config{
		Root:            "store",
		LogFileBytes:    1 << 30,
		QueueFileBytes:  300_000 * 20,
		BatchFileBytes:  300_000 * 46,
		Flush:           SyncFlush,
		MaxMessageBytes: 4 << 20,
		Files:           FilesConfig{TailBytes: 32 << 20, PendingBytes: 16 << 20, AheadBytes: 32 << 20, OpenFiles: 512},
		Flushing: FlushingConfig{
			SyncTimeout: 5 * time.Second, Interval: 500 * time.Millisecond, LeastPages: 4, Thorough: 10 * time.Second,
			QueueThorough: time.Minute, CheckpointBytes: 256 << 20,
		},
		Limits: LimitsConfig{
			MemoryBytes: 256 << 10, MemoryCount: 32, DiskBytes: 64 << 10, DiskCount: 8, MemoryRatio: 40,
			FilterBytes: 16000, TravelFiles: 1, QueryMatches: 64,
		},
		Retention: RetentionConfig{
			DeleteWhen: "04", Reserved: 72 * time.Hour, BatchMax: 10, LogPause: 100 * time.Millisecond, QueuePause: 100 * time.Millisecond,
			Interval: 10 * time.Second, MaxUsedPercent: 75, CleanPercent: 85, WarningPercent: 90, CleanForcibly: true,
		},
		Index:    IndexConfig{Enable: true, Slots: 5_000_000, Entries: 20_000_000, Tags: true},
		Recovery: RecoveryConfig{CheckCRC: true},
		Extra:    ExtraConfig{FileBytes: 48 << 20},
	}
}

// Validate reports all values that cannot be.
func (c *Config) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(c.Root == "", "storePathRootDir is empty")
	wrong(c.Flush != SyncFlush && c.Flush != AsyncFlush, "flushDiskType is %q, it must be %s or %s", c.Flush, SyncFlush, AsyncFlush)
	wrong(len(c.logDirs()) == 0, "readOnlyCommitLogStorePaths names all folders of storePathCommitLog: no file could be made")
	wrong(c.LogFileBytes < 4096, "mappedFileSizeCommitLog is %d, at least 4096 bytes are needed", c.LogFileBytes)
	wrong(c.QueueFileBytes < 20, "mappedFileSizeConsumeQueue is %d, at least 20 bytes are needed", c.QueueFileBytes)
	wrong(c.BatchFileBytes < 46, "mapperFileSizeBatchConsumeQueue is %d, at least 46 bytes are needed", c.BatchFileBytes)
	wrong(c.Extra.FileBytes < 64 || c.Extra.FileBytes > math.MaxInt32, "mappedFileSizeConsumeQueueExt is %d, it must be 64 bytes to 2 GiB", c.Extra.FileBytes)
	wrong(c.MaxMessageBytes < 1, "maxMessageSize is %d", c.MaxMessageBytes)
	wrong(c.Index.Slots < 1 || c.Index.Entries < 2, "maxHashSlotNum %d and maxIndexNum %d make no index file", c.Index.Slots, c.Index.Entries)
	if _, err := deleteHours(c.Retention.DeleteWhen); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// deleteHours reads the hours of deleteWhen.
func deleteHours(text string) (hours [24]bool, err error) {
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		hour, err := strconv.Atoi(part)
		if err != nil || hour < 0 || hour > 23 {
			return hours, fmt.Errorf("deleteWhen is %q: hours from 00 to 23 separated by semicolons are needed", text)
		}
		hours[hour] = true
	}
	return hours, nil
}

// logDirs are the folders of the log that files are made in.
func (c *Config) logDirs() []string {
	dirs := splitDirs(c.CommitLogDir)
	if len(dirs) == 0 {
		dirs = []string{filepath.Join(c.Root, "commitlog")}
	}
	old := c.oldLogDirs()
	return slices.DeleteFunc(dirs, func(dir string) bool { return slices.Contains(old, dir) })
}

// oldLogDirs are those that have files, but get none.
func (c *Config) oldLogDirs() []string { return splitDirs(c.OldLogDirs) }

// splitDirs gives the folders in a list that is separated by commas.
func splitDirs(list string) (dirs []string) {
	for dir := range strings.SplitSeq(list, ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			dirs = append(dirs, filepath.Clean(dir))
		}
	}
	return dirs
}

func (c *Config) queueDir() string       { return filepath.Join(c.Root, "consumequeue") }
func (c *Config) batchQueueDir() string  { return filepath.Join(c.Root, "batchconsumequeue") }
func (c *Config) extraDir() string       { return filepath.Join(c.Root, "consumequeue_ext") }
func (c *Config) indexDir() string       { return filepath.Join(c.Root, "index") }
func (c *Config) checkpointPath() string { return filepath.Join(c.Root, "checkpoint") }
func (c *Config) abortPath() string      { return filepath.Join(c.Root, "abort") }
func (c *Config) lockPath() string       { return filepath.Join(c.Root, "lock") }
