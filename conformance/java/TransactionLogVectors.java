import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogKey;
import org.apache.kafka.coordinator.transaction.generated.TransactionLogValue;

/**
 * Prints the bytes in src/broker/transaction-record.test.ts, made with the classes with which Kafka
 * writes its topic __transaction_state: a key, and values of both versions.
 *
 * The class path needs kafka-transaction-coordinator and kafka-clients (4.4.0 made the bytes there):
 * java -cp 'lib/*' TransactionLogVectors.java
 */
public class TransactionLogVectors {
  public static void main(String[] args) {
    print("key", MessageUtil.toVersionPrefixedBytes((short) 0, new TransactionLogKey().setTransactionalId("tx")));
    TransactionLogValue value =
        new TransactionLogValue()
            .setProducerId(7)
            .setProducerEpoch((short) 3)
            .setTransactionTimeoutMs(60_000)
            .setTransactionStatus((byte) 2)
            .setTransactionPartitions(
                List.of(
                    new TransactionLogValue.PartitionsSchema().setTopic("t").setPartitionIds(List.of(0, 2)),
                    new TransactionLogValue.PartitionsSchema().setTopic("u").setPartitionIds(List.of(1))))
            .setTransactionLastUpdateTimestampMs(2_000)
            .setTransactionStartTimestampMs(1_000);
    print("version 0", MessageUtil.toVersionPrefixedBytes((short) 0, value));
    value.setPreviousProducerId(7).setNextProducerId(8).setClientTransactionVersion((short) 2);
    print("version 1", MessageUtil.toVersionPrefixedBytes((short) 1, value));
    TransactionLogValue empty =
        new TransactionLogValue()
            .setProducerId(7)
            .setPreviousProducerId(7)
            .setProducerEpoch((short) 0)
            .setTransactionTimeoutMs(60_000)
            .setTransactionStatus((byte) 0)
            .setTransactionPartitions(null)
            .setTransactionLastUpdateTimestampMs(2_000)
            .setTransactionStartTimestampMs(-1);
    print("empty", MessageUtil.toVersionPrefixedBytes((short) 1, empty));
  }

  private static void print(String name, byte[] bytes) {
    System.out.println(name + " " + HexFormat.of().formatHex(ByteBuffer.wrap(bytes).array()));
  }
}
