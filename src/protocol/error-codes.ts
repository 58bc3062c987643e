/** One of Kafka's error codes. */
export interface KafkaError {
  readonly name: string
  readonly code: number
  /** Kafka's own judgement: the same request may succeed later. */
  readonly retriable: boolean
  /** What it means, in a few words without a full stop, to be put behind a name. */
  readonly message: string
}

interface Row {
  readonly code: number
  readonly retriable: boolean
  readonly message: string
}

const final = (code: number, message: string): Row => ({ code, retriable: false, message })
const retriable = (code: number, message: string): Row => ({ code, retriable: true, message })

const rows = {
  UNKNOWN_SERVER_ERROR: final(-1, 'the broker failed in a way that it did not expect'),
  NONE: final(0, 'no error'),
  OFFSET_OUT_OF_RANGE: final(1, 'the offset is outside the log'),
  CORRUPT_MESSAGE: retriable(2, 'a record batch is damaged or not acceptable'),
  UNKNOWN_TOPIC_OR_PARTITION: retriable(3, 'the broker does not have this topic or partition'),
  INVALID_FETCH_SIZE: final(4, 'the fetch size is not valid'),
  LEADER_NOT_AVAILABLE: retriable(5, 'the partition has no leader at the moment'),
  NOT_LEADER_OR_FOLLOWER: retriable(6, 'the broker is not the leader of the partition'),
  REQUEST_TIMED_OUT: retriable(7, 'the broker did not finish in time'),
  BROKER_NOT_AVAILABLE: final(8, 'the broker is not available'),
  REPLICA_NOT_AVAILABLE: retriable(9, 'the replica is not available'),
  MESSAGE_TOO_LARGE: final(10, 'a record batch is larger than the broker accepts'),
  STALE_CONTROLLER_EPOCH: final(11, 'another broker has become the controller'),
  OFFSET_METADATA_TOO_LARGE: final(12, 'the metadata of a committed offset is too large'),
  NETWORK_EXCEPTION: retriable(13, 'the broker hung up before it answered'),
  COORDINATOR_LOAD_IN_PROGRESS: retriable(14, 'the coordinator is still loading'),
  COORDINATOR_NOT_AVAILABLE: retriable(15, 'there is no coordinator at the moment'),
  NOT_COORDINATOR: retriable(16, 'the broker is not the coordinator'),
  INVALID_TOPIC_EXCEPTION: final(17, 'the topic name is not valid, or the topic is internal'),
  RECORD_LIST_TOO_LARGE: final(18, 'a record batch is larger than a log segment'),
  NOT_ENOUGH_REPLICAS: retriable(19, 'too few replicas are in sync'),
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: retriable(20, 'written, but too few replicas are in sync'),
  INVALID_REQUIRED_ACKS: final(21, 'acks must be -1, 0 or 1'),
  ILLEGAL_GENERATION: final(22, 'the generation of the group is another one'),
  INCONSISTENT_GROUP_PROTOCOL: final(23, 'no protocol in common with the other group members'),
  INVALID_GROUP_ID: final(24, 'the group id is not valid'),
  UNKNOWN_MEMBER_ID: final(25, 'the group has no such member'),
  INVALID_SESSION_TIMEOUT: final(26, 'the session timeout is outside the limits of the broker'),
  REBALANCE_IN_PROGRESS: final(27, 'the group is rebalancing, join again'),
  INVALID_COMMIT_OFFSET_SIZE: final(28, 'the committed offset is too large to be stored'),
  TOPIC_AUTHORIZATION_FAILED: final(29, 'no permission for the topic'),
  GROUP_AUTHORIZATION_FAILED: final(30, 'no permission for the group'),
  CLUSTER_AUTHORIZATION_FAILED: final(31, 'no permission for the cluster'),
  INVALID_TIMESTAMP: final(32, 'the timestamp of a record is out of the accepted range'),
  UNSUPPORTED_SASL_MECHANISM: final(33, 'the broker does not offer this SASL mechanism'),
  ILLEGAL_SASL_STATE: final(34, 'the request is not allowed at this point of authentication'),
  UNSUPPORTED_VERSION: final(35, 'the broker does not support this version of the API'),
  TOPIC_ALREADY_EXISTS: final(36, 'the topic exists'),
  INVALID_PARTITIONS: final(37, 'the number of partitions is not valid'),
  INVALID_REPLICATION_FACTOR: final(
    38,
    'the replication factor is not possible with these brokers',
  ),
  INVALID_REPLICA_ASSIGNMENT: final(39, 'the assignment of replicas is not valid'),
  INVALID_CONFIG: final(40, 'a configuration value is not valid'),
  NOT_CONTROLLER: retriable(41, 'the broker is not the controller'),
  INVALID_REQUEST: final(42, 'the broker finds the request malformed or contradictory'),
  UNSUPPORTED_FOR_MESSAGE_FORMAT: final(43, 'the record format of the topic is too old for this'),
  POLICY_VIOLATION: final(44, 'a policy of the broker forbids it'),
  OUT_OF_ORDER_SEQUENCE_NUMBER: final(45, 'a batch of this producer is missing before this one'),
  DUPLICATE_SEQUENCE_NUMBER: final(46, 'the batch was already written'),
  INVALID_PRODUCER_EPOCH: final(47, 'a newer producer has taken over'),
  INVALID_TXN_STATE: final(48, 'the transaction is not in a state that allows this'),
  INVALID_PRODUCER_ID_MAPPING: final(49, 'the producer id does not belong to the transactional id'),
  INVALID_TRANSACTION_TIMEOUT: final(
    50,
    'the transaction timeout is above the limit of the broker',
  ),
  CONCURRENT_TRANSACTIONS: retriable(51, 'the previous transaction is still being completed'),
  TRANSACTION_COORDINATOR_FENCED: final(52, 'the transaction coordinator has been replaced'),
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: final(53, 'no permission for the transactional id'),
  SECURITY_DISABLED: final(54, 'security features are off'),
  OPERATION_NOT_ATTEMPTED: final(55, 'not tried, because another part of the request failed'),
  KAFKA_STORAGE_ERROR: retriable(56, 'the disk of the broker failed'),
  LOG_DIR_NOT_FOUND: final(57, 'the broker has no such log directory'),
  SASL_AUTHENTICATION_FAILED: final(58, 'the credentials were refused'),
  UNKNOWN_PRODUCER_ID: final(59, 'the broker has forgotten this producer'),
  REASSIGNMENT_IN_PROGRESS: final(60, 'the partition is being reassigned'),
  DELEGATION_TOKEN_AUTH_DISABLED: final(61, 'delegation tokens are off'),
  DELEGATION_TOKEN_NOT_FOUND: final(62, 'there is no such delegation token'),
  DELEGATION_TOKEN_OWNER_MISMATCH: final(63, 'the delegation token belongs to another principal'),
  DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: final(64, 'this connection may not ask for tokens'),
  DELEGATION_TOKEN_AUTHORIZATION_FAILED: final(65, 'no permission for the delegation token'),
  DELEGATION_TOKEN_EXPIRED: final(66, 'the delegation token has expired'),
  INVALID_PRINCIPAL_TYPE: final(67, 'the type of the principal is not supported'),
  NON_EMPTY_GROUP: final(68, 'the group has members'),
  GROUP_ID_NOT_FOUND: final(69, 'there is no such group'),
  FETCH_SESSION_ID_NOT_FOUND: retriable(70, 'the broker has dropped the fetch session'),
  INVALID_FETCH_SESSION_EPOCH: retriable(71, 'the fetch session is at another epoch'),
  LISTENER_NOT_FOUND: retriable(72, 'the leader has no listener of this kind'),
  TOPIC_DELETION_DISABLED: final(73, 'topics may not be deleted'),
  FENCED_LEADER_EPOCH: retriable(74, 'the leader epoch of the request is too old'),
  UNKNOWN_LEADER_EPOCH: retriable(75, 'the leader epoch of the request is newer than the broker'),
  UNSUPPORTED_COMPRESSION_TYPE: final(76, 'the codec needs a newer version of the API'),
  STALE_BROKER_EPOCH: final(77, 'the broker has been registered anew'),
  OFFSET_NOT_AVAILABLE: retriable(78, 'the new leader does not know its high watermark yet'),
  MEMBER_ID_REQUIRED: final(79, 'join again with the member id of the answer'),
  PREFERRED_LEADER_NOT_AVAILABLE: retriable(80, 'the preferred leader is not available'),
  GROUP_MAX_SIZE_REACHED: final(81, 'the group is full'),
  FENCED_INSTANCE_ID: final(82, 'another member uses the same group instance id'),
  ELIGIBLE_LEADERS_NOT_AVAILABLE: retriable(83, 'no replica may become leader'),
  ELECTION_NOT_NEEDED: retriable(84, 'the leader is already the right one'),
  NO_REASSIGNMENT_IN_PROGRESS: final(85, 'the partition is not being reassigned'),
  GROUP_SUBSCRIBED_TO_TOPIC: final(86, 'the group reads the topic'),
  INVALID_RECORD: final(87, 'the broker refused a record'),
  UNSTABLE_OFFSET_COMMIT: retriable(88, 'a transaction has not settled the offsets yet'),
  THROTTLING_QUOTA_EXCEEDED: retriable(89, 'the quota is used up'),
  PRODUCER_FENCED: final(90, 'a newer producer has the same transactional id'),
  RESOURCE_NOT_FOUND: final(91, 'the resource does not exist'),
  DUPLICATE_RESOURCE: final(92, 'the resource is named twice'),
  UNACCEPTABLE_CREDENTIAL: final(93, 'the credential does not meet the rules'),
  INCONSISTENT_VOTER_SET: final(94, 'the sender or receiver is not among the voters'),
  INVALID_UPDATE_VERSION: final(95, 'the version of the update is not valid'),
  FEATURE_UPDATE_FAILED: final(96, 'the features could not be changed'),
  PRINCIPAL_DESERIALIZATION_FAILURE: final(97, 'a forwarded principal could not be read'),
  SNAPSHOT_NOT_FOUND: final(98, 'there is no such snapshot'),
  POSITION_OUT_OF_RANGE: final(99, 'the position is outside the snapshot'),
  UNKNOWN_TOPIC_ID: retriable(100, 'the broker does not have this topic id'),
  DUPLICATE_BROKER_REGISTRATION: final(101, 'the broker id is in use'),
  BROKER_ID_NOT_REGISTERED: final(102, 'the broker id is not registered'),
  INCONSISTENT_TOPIC_ID: retriable(103, 'the log belongs to another topic id'),
  INCONSISTENT_CLUSTER_ID: final(104, 'the cluster has another id'),
  TRANSACTIONAL_ID_NOT_FOUND: final(105, 'there is no such transactional id'),
  FETCH_SESSION_TOPIC_ID_ERROR: retriable(106, 'the fetch session mixes topic ids and names'),
  INELIGIBLE_REPLICA: final(107, 'a replica may not be in sync'),
  NEW_LEADER_ELECTED: final(108, 'the change made another broker the leader'),
  OFFSET_MOVED_TO_TIERED_STORAGE: final(109, 'the offset is in tiered storage only'),
  FENCED_MEMBER_EPOCH: final(110, 'the group fenced the member, join again with nothing owned'),
  UNRELEASED_INSTANCE_ID: final(111, 'another member still holds the instance id'),
  UNSUPPORTED_ASSIGNOR: final(112, 'the group does not support the assignor'),
  STALE_MEMBER_EPOCH: final(113, 'the member epoch is old, wait for the next heartbeat'),
  MISMATCHED_ENDPOINT_TYPE: final(114, 'the request belongs to another kind of endpoint'),
  UNSUPPORTED_ENDPOINT_TYPE: final(115, 'the kind of endpoint is not supported'),
  UNKNOWN_CONTROLLER_ID: final(116, 'there is no controller with this id'),
  UNKNOWN_SUBSCRIPTION_ID: final(117, 'the telemetry subscription is out of date'),
  TELEMETRY_TOO_LARGE: final(118, 'the telemetry is larger than the broker accepts'),
  INVALID_REGISTRATION: final(119, 'the registration of the broker is not valid'),
  TRANSACTION_ABORTABLE: final(120, 'the transaction failed, abort it and go on'),
  INVALID_RECORD_STATE: final(121, 'the record cannot be acknowledged in its state'),
  SHARE_SESSION_NOT_FOUND: retriable(122, 'the broker has dropped the share session'),
  INVALID_SHARE_SESSION_EPOCH: retriable(123, 'the share session is at another epoch'),
  FENCED_STATE_EPOCH: final(124, 'the state of the share group is at another epoch'),
  INVALID_VOTER_KEY: final(125, 'the voter key is not the one of the receiver'),
  DUPLICATE_VOTER: final(126, 'the voter is already in the set'),
  VOTER_NOT_FOUND: final(127, 'the voter is not in the set'),
  INVALID_REGULAR_EXPRESSION: final(128, 'the regular expression is not valid'),
  REBOOTSTRAP_REQUIRED: final(129, 'the client must start again from its bootstrap servers'),
  STREAMS_INVALID_TOPOLOGY: final(130, 'the group finds the topology not valid'),
  STREAMS_INVALID_TOPOLOGY_EPOCH: final(131, 'the topology epoch is not valid'),
  STREAMS_TOPOLOGY_FENCED: final(132, 'the group has a newer topology'),
  SHARE_SESSION_LIMIT_REACHED: retriable(133, 'the broker has too many share sessions'),
  GROUP_DELETION_FAILED: final(134, 'the group could not be deleted'),
  STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: final(135, 'the topology description was not stored'),
  CONTROLLER_ID_NOT_REGISTERED: final(136, 'the controller id is not registered'),
} as const satisfies Record<string, Row>

/** Kafka's name of an error code. */
export type KafkaErrorName = keyof typeof rows

/** The error codes by name, as of Kafka 4.4: `errorCode.NOT_COORDINATOR` is 16. */
export const errorCode: Readonly<Record<KafkaErrorName, number>> = Object.freeze(
  Object.fromEntries(Object.entries(rows).map(([name, { code }]) => [name, code])) as Record<
    KafkaErrorName,
    number
  >,
)

/** All errors, in the order of their codes. */
export const kafkaErrors: readonly KafkaError[] = Object.freeze(
  Object.entries(rows).map(([name, row]) => Object.freeze({ name, ...row })),
)

const byCode: ReadonlyMap<number, KafkaError> = new Map(
  kafkaErrors.map((error) => [error.code, error]),
)

/** The error with this code. A code from a newer Kafka is not retriable and named by its number. */
export function kafkaError(code: number): KafkaError {
  return (
    byCode.get(code) ?? {
      name: `UNKNOWN_CODE_${code}`,
      code,
      retriable: false,
      message: 'an error that this version of Millpond does not know',
    }
  )
}
