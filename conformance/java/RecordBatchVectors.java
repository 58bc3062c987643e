import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.zip.CRC32C;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.DefaultRecordBatch;
import org.apache.kafka.common.record.EndTransactionMarker;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.ByteBufferOutputStream;
import org.apache.kafka.common.utils.ByteUtils;
import org.apache.kafka.common.utils.Utils;

/**
 * Writes src/protocol/record-batch.vectors.json: what Kafka's own classes make of the records that
 * src/protocol/record-batch.vectors.test.ts describes, and the vectors that the tests of varints,
 * murmur2 and CRC-32C repeat. Run with kafka-clients 4.1.0, its codecs and slf4j on the class path:
 * java -cp 'lib/*' RecordBatchVectors.java > record-batch.vectors.json
 */
public class RecordBatchVectors {
  static final StringBuilder out = new StringBuilder();

  public static void main(String[] args) throws Exception {
    out.append("{\n  \"source\": \"kafka-clients 4.1.0, conformance/java/RecordBatchVectors.java\"");
    batch("plain", smallRecords(builder(Compression.NONE, 1234567890123L, -1L, (short) -1, -1, false, 7)));
    batch("idempotent", smallRecords(builder(Compression.NONE, 0, 4242L, (short) 3, 2147483000, false, -1)));
    batch("transactional", smallRecords(builder(Compression.NONE, 5, 9007199254740991L, (short) 32767, 0, true, 0)));
    batch("logAppendTime", smallRecords(new MemoryRecordsBuilder(new ByteBufferOutputStream(1024), (byte) 2,
        Compression.NONE, TimestampType.LOG_APPEND_TIME, 10, 1700000009999L, -1, (short) -1, -1, false, false, -1, 4096)));
    batch("gaps", gaps(builder(Compression.NONE, 100, -1L, (short) -1, -1, false, 2)));
    batch("timestamps", timestamps(builder(Compression.NONE, 0, -1L, (short) -1, -1, false, -1)));
    MemoryRecordsBuilder horizon = new MemoryRecordsBuilder(new ByteBufferOutputStream(1024), (byte) 2, Compression.NONE,
        TimestampType.CREATE_TIME, 10, -1, -1, (short) -1, -1, false, false, -1, 4096, 1800000000000L);
    batch("deleteHorizon", smallRecords(horizon));
    for (CompressionType type : Arrays.asList(CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4, CompressionType.ZSTD)) {
      batch(type.name, manyRecords(builder(Compression.of(type.name).build(), 1000, 77L, (short) 1, 50, false, 4)));
    }
    field("commit", MemoryRecords.withEndTransactionMarker(33, 1700000000000L, 6, 4242L, (short) 3,
        new EndTransactionMarker(ControlRecordType.COMMIT, 12)).buffer());
    field("abort", MemoryRecords.withEndTransactionMarker(34, 1700000000001L, 6, 4242L, (short) 3,
        new EndTransactionMarker(ControlRecordType.ABORT, 13)).buffer());
    ByteBuffer leaderChange = ByteBuffer.allocate(256);
    field("leaderChange", MemoryRecords.withLeaderChangeMessage(35, 1700000000002L, 6, leaderChange,
        new LeaderChangeMessage().setLeaderId(1).setVoters(Collections.emptyList())).buffer());
    ByteBuffer empty = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
    DefaultRecordBatch.writeEmptyHeader(empty, (byte) 2, 8L, (short) 1, 5, 200, 205, 3, TimestampType.CREATE_TIME,
        1700000000000L, false, false);
    empty.flip();
    field("empty", empty);
    for (byte magic = 0; magic < 2; magic++) {
      MemoryRecordsBuilder old = MemoryRecords.builder(ByteBuffer.allocate(256), magic, Compression.NONE, TimestampType.CREATE_TIME, 3L);
      old.append(1700000000000L, bytes("key"), bytes("value"));
      batch("magic" + magic, old);
    }
    varints();
    murmur2();
    crc32c();
    System.out.println(out.append("\n}"));
  }

  static MemoryRecordsBuilder builder(Compression compression, long baseOffset, long producerId, short epoch, int sequence,
      boolean transactional, int leaderEpoch) {
    return new MemoryRecordsBuilder(new ByteBufferOutputStream(1024), (byte) 2, compression, TimestampType.CREATE_TIME, baseOffset,
        -1, producerId, epoch, sequence, transactional, false, leaderEpoch, 1 << 20);
  }

  static MemoryRecordsBuilder smallRecords(MemoryRecordsBuilder builder) {
    builder.append(1700000000000L, bytes("key"), bytes("value"));
    builder.append(1700000000001L, null, bytes("no key"), new Header[] {new RecordHeader("trace", bytes("abc"))});
    builder.append(1699999999000L, bytes("no value"), null,
        new Header[] {new RecordHeader("null", null), new RecordHeader("", new byte[0]), new RecordHeader("null", bytes("again"))});
    builder.append(1700000500000L, (byte[]) null, (byte[]) null);
    builder.append(1700000000002L, new byte[0], new byte[0]);
    builder.append(1700000000003L, bytes("schlüssel-ключ-🔑"), bytes("é"), new Header[] {new RecordHeader("ключ", bytes("ü"))});
    byte[] all = new byte[256];
    for (int i = 0; i < 256; i++) all[i] = (byte) i;
    builder.append(1700000000004L, Arrays.copyOf(all, 70), all);
    return builder;
  }

  static MemoryRecordsBuilder gaps(MemoryRecordsBuilder builder) {
    builder.appendWithOffset(101, 1700000000000L, bytes("a"), bytes("1"));
    builder.appendWithOffset(164, 1700000000000L, bytes("b"), bytes("2"));
    builder.appendWithOffset(100000, 1700000000000L, bytes("c"), bytes("3"));
    return builder;
  }

  static MemoryRecordsBuilder timestamps(MemoryRecordsBuilder builder) {
    for (long timestamp : new long[] {1000, 0, 9007199254740991L, 1063, 1064, 936, 935, 1 << 30, 1L << 31, 1L << 40}) {
      builder.append(timestamp, bytes("t"), null);
    }
    return builder;
  }

  static MemoryRecordsBuilder manyRecords(MemoryRecordsBuilder builder) {
    for (int i = 0; i < 300; i++) {
      builder.append(1700000000000L + i * 10, bytes("key-" + i), bytes(("value-" + i % 7 + ";").repeat(30)));
    }
    return builder;
  }

  static void varints() throws Exception {
    out.append(",\n  \"varints\": [");
    String separator = "";
    for (int value : new int[] {0, -1, 1, 63, -64, 64, -65, 8191, -8192, 8192, 1048575, 1048576, 134217727, 134217728, -134217729,
        Integer.MAX_VALUE, Integer.MIN_VALUE}) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      ByteUtils.writeVarint(value, new DataOutputStream(bytes));
      out.append(separator).append("[").append(value).append(", \"").append(hex(bytes.toByteArray())).append("\"]");
      separator = ", ";
    }
    out.append("],\n  \"varlongs\": [");
    separator = "";
    for (long value : new long[] {0, -1, 1, 64, -65, 134217727, -134217729, 1073741823, 1073741824, -1073741824, -1073741825,
        2147483647L, -2147483648L, 4294967296L, 1700000000000L, -1700000000000L, 34359738367L, 34359738368L, 9007199254740991L,
        -9007199254740991L}) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      ByteUtils.writeVarlong(value, new DataOutputStream(bytes));
      out.append(separator).append("[").append(value).append(", \"").append(hex(bytes.toByteArray())).append("\"]");
      separator = ", ";
    }
    out.append("],\n  \"unsignedVarints\": [");
    separator = "";
    for (long value : new long[] {0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455, 268435456, 4294967295L}) {
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      ByteUtils.writeUnsignedVarint((int) value, new DataOutputStream(bytes));
      out.append(separator).append("[").append(value).append(", \"").append(hex(bytes.toByteArray())).append("\"]");
      separator = ", ";
    }
    out.append("]");
  }

  static void murmur2() {
    out.append(",\n  \"murmur2\": [");
    String separator = "";
    byte[] all = new byte[256];
    for (int i = 0; i < 256; i++) all[i] = (byte) (255 - i);
    for (int length : new int[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 31, 256}) {
      byte[] key = Arrays.copyOf(all, length);
      out.append(separator).append("[\"").append(hex(key)).append("\", ").append(Utils.murmur2(key)).append("]");
      separator = ", ";
    }
    out.append("]");
  }

  static void crc32c() {
    out.append(",\n  \"crc32c\": [");
    String separator = "";
    byte[] all = new byte[256];
    for (int i = 0; i < 256; i++) all[i] = (byte) i;
    for (int length : new int[] {0, 1, 7, 32, 256}) {
      CRC32C crc = new CRC32C();
      crc.update(all, 0, length);
      out.append(separator).append("[\"").append(hex(Arrays.copyOf(all, length))).append("\", ").append(crc.getValue()).append("]");
      separator = ", ";
    }
    out.append("]");
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static void batch(String name, MemoryRecordsBuilder builder) {
    field(name, builder.build().buffer());
  }

  static void field(String name, ByteBuffer buffer) {
    out.append(",\n  \"").append(name).append("\": \"").append(hex(Utils.toArray(buffer))).append("\"");
  }

  static String hex(byte[] bytes) {
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) text.append(String.format("%02x", b));
    return text.toString();
  }
}
