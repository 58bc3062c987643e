import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.kafka.common.utils.ByteUtils;

/**
 * Writes src/schema-registry/schema-vectors.json: the payloads that the libraries of Avro and Protobuf for
 * Java make of src/schema-registry/schema-cases.json, behind the prefix that Confluent's serdes write (id
 * 258), and what Avro reads of them by another schema. Run with avro 1.12.2, protobuf-java and
 * protobuf-java-util 4.36.2, proto-google-common-protos 2.51.0 and kafka-clients 4.1.0 (with what they
 * need) on the class path, and protoc 4.36.2:
 * java -cp 'lib/*' SchemaVectors.java PROTOC schema-cases.json > schema-vectors.json
 */
public class SchemaVectors {
  static final ObjectMapper mapper = new ObjectMapper();
  static final int id = 258;

  public static void main(String[] args) throws Exception {
    JsonNode cases = mapper.readTree(new File(args[1]));
    ObjectNode out = mapper.createObjectNode();
    out.put("source", "avro 1.12.2, protobuf-java 4.36.2, conformance/java/SchemaVectors.java");
    ObjectNode avro = out.putObject("avro");
    for (JsonNode one : cases.get("avro")) avro(one, avro.putObject(one.get("name").asText()));
    ObjectNode protobuf = out.putObject("protobuf");
    for (JsonNode one : cases.get("protobuf")) {
      protobuf(args[0], one, protobuf.putObject(one.get("name").asText()));
    }
    System.out.println(mapper.writerWithDefaultPrettyPrinter().writeValueAsString(out));
  }

  static void avro(JsonNode one, ObjectNode out) throws Exception {
    Schema.Parser parser = new Schema.Parser();
    if (one.has("parts")) {
      for (JsonNode part : one.get("parts")) parser.parse(part.get("schema").toString());
    }
    Schema schema = parser.parse(one.get("schema").toString());
    Object value = new GenericDatumReader<Object>(schema)
        .read(null, DecoderFactory.get().jsonDecoder(schema, one.get("json").toString()));
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    BinaryEncoder encoder = one.has("blocking")
        ? new EncoderFactory().configureBlockSize(64).blockingBinaryEncoder(bytes, null)
        : EncoderFactory.get().directBinaryEncoder(bytes, null);
    if (schema.getType() == Schema.Type.BYTES) {
      ByteBuffer raw = (ByteBuffer) value;
      while (raw.hasRemaining()) bytes.write(raw.get());
    } else {
      new GenericDatumWriter<Object>(schema).write(value, encoder);
      encoder.flush();
    }
    out.put("hex", prefix() + HexFormat.of().formatHex(bytes.toByteArray()));
    if (!one.has("own")) return;
    Schema own = new Schema.Parser().parse(one.get("own").toString());
    try {
      Object read = new GenericDatumReader<Object>(schema, own)
          .read(null, DecoderFactory.get().binaryDecoder(bytes.toByteArray(), null));
      ByteArrayOutputStream text = new ByteArrayOutputStream();
      JsonEncoder json = EncoderFactory.get().jsonEncoder(own, text);
      new GenericDatumWriter<Object>(own).write(read, json);
      json.flush();
      out.set("read", mapper.readTree(text.toByteArray()));
    } catch (Exception error) {
      out.put("error", error.getMessage());
    }
  }

  static void protobuf(String protoc, JsonNode one, ObjectNode out) throws Exception {
    FileDescriptor file = compile(protoc, one.get("schema").asText(), one.path("parts"));
    String name = one.get("message").asText();
    Descriptor message = find(file, name.startsWith(file.getPackage() + ".")
        ? name.substring(file.getPackage().length() + 1) : name);
    DynamicMessage.Builder builder = DynamicMessage.newBuilder(message);
    JsonFormat.parser().merge(one.get("json").toString(), builder);
    List<Integer> steps = steps(message);
    StringBuilder indexes = new StringBuilder();
    if (steps.equals(List.of(0))) {
      indexes.append(varint(0));
    } else {
      indexes.append(varint(steps.size()));
      for (int step : steps) indexes.append(varint(step));
    }
    out.put("hex", prefix() + indexes + HexFormat.of().formatHex(builder.build().toByteArray()));
  }

  /** As Confluent's serdes count: map entries and groups, which are no messages in the text, are left out. */
  static List<Integer> steps(Descriptor message) {
    List<Integer> steps = new ArrayList<>();
    Descriptor outer = message.getContainingType();
    if (outer != null) steps.addAll(steps(outer));
    List<Descriptor> within = outer == null ? message.getFile().getMessageTypes() : outer.getNestedTypes();
    int index = 0;
    for (Descriptor one : within) {
      if (one.equals(message)) break;
      if (!one.getOptions().getMapEntry() && !isGroup(outer, one)) index += 1;
    }
    steps.add(index);
    return steps;
  }

  static boolean isGroup(Descriptor outer, Descriptor message) {
    return outer != null && outer.getFields().stream().anyMatch(
        field -> field.getType() == FieldDescriptor.Type.GROUP && field.getMessageType().equals(message));
  }

  static Descriptor find(FileDescriptor file, String name) {
    String[] path = name.split("\\.");
    Descriptor found = file.findMessageTypeByName(path[0]);
    for (int i = 1; i < path.length; i += 1) found = found.findNestedTypeByName(path[i]);
    return found;
  }

  static FileDescriptor compile(String protoc, String text, JsonNode parts) throws Exception {
    Path directory = Files.createTempDirectory("schema-vectors");
    List<String> known = List.of("google/type/date.proto", "google/type/money.proto",
        "google/type/datetime.proto", "google/type/dayofweek.proto");
    for (String path : known) {
      Files.createDirectories(directory.resolve(path).getParent());
      try (var in = SchemaVectors.class.getClassLoader().getResourceAsStream(path)) {
        Files.write(directory.resolve(path), in.readAllBytes());
      }
    }
    for (String path : List.of("any", "duration", "empty", "field_mask", "struct", "timestamp", "wrappers")) {
      String full = "google/protobuf/" + path + ".proto";
      Files.createDirectories(directory.resolve(full).getParent());
      try (var in = FileDescriptor.class.getClassLoader().getResourceAsStream(full)) {
        Files.write(directory.resolve(full), in.readAllBytes());
      }
    }
    for (JsonNode part : parts) {
      Path path = directory.resolve(part.get("name").asText());
      Files.createDirectories(path.getParent());
      Files.writeString(path, part.get("schema").asText());
    }
    Files.writeString(directory.resolve("main.proto"), text);
    Path set = directory.resolve("set");
    Process process = new ProcessBuilder(protoc, "-I" + directory, "--include_imports",
        "--descriptor_set_out=" + set, "main.proto").redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    if (process.waitFor() != 0) throw new IllegalStateException(output);
    Map<String, FileDescriptor> files = new HashMap<>();
    FileDescriptor last = null;
    for (FileDescriptorProto proto : FileDescriptorSet.parseFrom(Files.readAllBytes(set)).getFileList()) {
      FileDescriptor[] needed = proto.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
      last = FileDescriptor.buildFrom(proto, needed);
      files.put(proto.getName(), last);
    }
    return last;
  }

  static String prefix() {
    return HexFormat.of().formatHex(ByteBuffer.allocate(5).put((byte) 0).putInt(id).array());
  }

  static String varint(int value) {
    ByteBuffer buffer = ByteBuffer.allocate(ByteUtils.sizeOfVarint(value));
    ByteUtils.writeVarint(value, buffer);
    return HexFormat.of().formatHex(buffer.array());
  }
}
