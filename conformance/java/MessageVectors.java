import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * Makes src/protocol/message-vectors.jsonl with Kafka's own message classes: one line for each API,
 * version and direction, with every field set, and with nulls, empty lists and -1.
 *
 * The class path needs kafka-clients (4.4.0 made the committed file), slf4j-api, and jackson-databind with
 * jackson-core, jackson-annotations and jackson-datatype-jdk8:
 * java -cp 'lib/*' MessageVectors.java src/protocol/message-vectors.jsonl
 */
public class MessageVectors {
  /** Key, first and last version of each API in src/protocol/apis.ts. */
  private static final int[][] APIS = {
    {0, 3, 12}, {1, 4, 13}, {2, 1, 8}, {3, 0, 12}, {8, 2, 9}, {9, 1, 9}, {10, 0, 5}, {11, 0, 9},
    {12, 0, 4}, {13, 0, 5}, {14, 0, 5}, {15, 0, 5}, {16, 0, 5}, {17, 0, 1}, {18, 0, 4}, {19, 2, 7},
    {20, 1, 6}, {21, 0, 2}, {22, 0, 5}, {23, 2, 4}, {24, 0, 5}, {25, 0, 4}, {26, 0, 5}, {28, 0, 5},
    {32, 1, 4}, {36, 0, 2}, {37, 0, 3}, {42, 0, 2}, {44, 0, 1}, {47, 0, 0}, {60, 0, 1},
    {61, 0, 0}, {65, 0, 0}, {66, 0, 2},
    {88, 0, 1}, {89, 0, 1}
  };

  private final boolean filled;
  private final Deque<byte[]> records = new ArrayDeque<>();
  private int count = 0;

  private MessageVectors(boolean filled) {
    this.filled = filled;
  }

  public static void main(String[] args) throws Exception {
    StringBuilder lines = new StringBuilder();
    for (int[] api : APIS)
      for (String direction : new String[] {"request", "response"})
        for (short version = (short) api[1]; version <= api[2]; version++)
          for (boolean filled : new boolean[] {true, false})
            lines.append(new MessageVectors(filled).line((short) api[0], direction, version));
    Files.writeString(Path.of(args[0]), lines);
  }

  private String line(short key, String direction, short version) throws Exception {
    ApiMessage message = newMessage(key, direction);
    Schema[] schemas = (Schema[]) message.getClass().getField("SCHEMAS").get(null);
    Struct struct = struct(schemas[version]);
    ByteBuffer bytes = ByteBuffer.allocate(struct.sizeOf());
    struct.writeTo(bytes);
    bytes.flip();
    message.read(new ByteBufferAccessor(bytes.duplicate()), version);

    // The schemas and the message classes are two encoders; they must agree.
    ObjectSerializationCache cache = new ObjectSerializationCache();
    ByteBuffer again = ByteBuffer.allocate(message.size(cache, version));
    message.write(new ByteBufferAccessor(again), cache, version);
    again.flip();
    if (!again.equals(bytes)) throw new IllegalStateException(key + " " + direction + " v" + version);

    JsonNode body = json(message, version);
    addRecords(body);
    return String.format(
        "{\"key\":%d,\"direction\":\"%s\",\"version\":%d,\"filled\":%b,\"hex\":\"%s\",\"body\":%s}%n",
        key, direction, version, filled, HexFormat.of().formatHex(again.array()),
        new ObjectMapper().writeValueAsString(body));
  }

  private static ApiMessage newMessage(short key, String direction) {
    ApiMessageType type = ApiMessageType.fromApiKey(key);
    return direction.equals("request") ? type.newRequest() : type.newResponse();
  }

  private static JsonNode json(ApiMessage message, short version) throws Exception {
    Class<?> data = message.getClass();
    Class<?> converter = Class.forName(data.getName() + "JsonConverter");
    Method write = converter.getMethod("write", data, short.class);
    return (JsonNode) write.invoke(null, message, version);
  }

  /** Kafka's JSON form leaves records empty; they are added in the order in which they were made. */
  private void addRecords(JsonNode node) {
    if (node.has("records") && !node.get("records").isNull())
      ((ObjectNode) node).put("records", records.poll());
    for (JsonNode child : node) addRecords(child);
  }

  private Struct struct(Schema schema) {
    Struct struct = new Struct(schema);
    for (BoundField field : schema.fields()) {
      if (!(field.def.type instanceof TaggedFields)) {
        struct.set(field, value(field.def.type));
        continue;
      }
      NavigableMap<Integer, Object> tagged = new TreeMap<>();
      if (filled)
        for (Map.Entry<Integer, Field> entry : ((TaggedFields) field.def.type).fields().entrySet())
          tagged.put(entry.getKey(), value(entry.getValue().type));
      struct.set(field, tagged);
    }
    return struct;
  }

  private Object value(Type type) {
    count++;
    if (type instanceof Schema) return struct((Schema) type);
    if (!filled && type.isNullable()) return null;
    if (type.arrayElementType().isPresent()) return array(type.arrayElementType().get());
    return switch (type.toString()) {
      case "BOOLEAN" -> filled;
      case "INT8" -> (byte) (filled ? count % 100 + 2 : 0);
      case "INT16" -> (short) (filled ? 0x0100 + count : -1);
      case "UINT16" -> filled ? 0xf100 + count : 0;
      case "INT32" -> filled ? 0x01020300 + count : -1;
      case "INT64" -> filled ? (1L << 52) + count : -2L;
      case "UUID" -> filled ? new Uuid(0x0123456789abcdefL, count) : Uuid.ZERO_UUID;
      case "STRING", "COMPACT_STRING", "NULLABLE_STRING", "COMPACT_NULLABLE_STRING" ->
          filled ? "ü" + count : "";
      case "BYTES", "COMPACT_BYTES", "NULLABLE_BYTES", "COMPACT_NULLABLE_BYTES" ->
          ByteBuffer.wrap(filled ? threeBytes() : new byte[0]);
      case "RECORDS", "COMPACT_RECORDS", "NULLABLE_RECORDS", "COMPACT_NULLABLE_RECORDS" -> {
        byte[] bytes = threeBytes();
        records.add(bytes);
        yield MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
      }
      default -> throw new IllegalStateException(type.toString());
    };
  }

  private Object[] array(Type element) {
    int size = element instanceof Schema ? 1 : filled ? 2 : 0;
    Object[] values = new Object[size];
    for (int index = 0; index < size; index++) values[index] = value(element);
    return values;
  }

  private byte[] threeBytes() {
    return new byte[] {(byte) count, 0, (byte) 255};
  }
}
