package millpond.peers;

import jakarta.ws.rs.GET;
import jakarta.ws.rs.NotFoundException;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.Produces;
import jakarta.ws.rs.RedirectionException;
import jakarta.ws.rs.ServiceUnavailableException;
import jakarta.ws.rs.core.MediaType;
import jakarta.ws.rs.core.Response;
import java.net.URI;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyQueryMetadata;
import org.apache.kafka.streams.StoreQueryParameters;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.state.QueryableStoreTypes;
import org.apache.kafka.streams.state.ReadOnlyKeyValueStore;

/** Counts, and the resource that gives one of them: who has the key, and then its value. */
@Path("counts")
public final class PointReads {
  /** What is answered. */
  public record Row(String key, long value) {}

  private final KafkaStreams streams;
  private final HostInfo self;
  private final StringSerializer serializer = new StringSerializer();

  PointReads(KafkaStreams streams, HostInfo self) {
    this.streams = streams;
    this.self = self;
  }

  static Topology topology(Settings settings) {
    return Counts.topology(settings);
  }

  @GET
  @Path("{key}")
  @Produces(MediaType.APPLICATION_JSON)
  public Row get(@PathParam("key") String key) {
    KeyQueryMetadata owner = streams.queryMetadataForKey(Counts.STORE, key, serializer);
    if (owner == null || owner.equals(KeyQueryMetadata.NOT_AVAILABLE))
      throw new ServiceUnavailableException();
    HostInfo host = owner.activeHost();
    if (!host.equals(self)) {
      URI there = URI.create("http://%s:%d/counts/%s".formatted(host.host(), host.port(), key));
      throw new RedirectionException(Response.Status.TEMPORARY_REDIRECT, there);
    }
    ReadOnlyKeyValueStore<String, Long> counts =
        streams.store(
            StoreQueryParameters.fromNameAndType(
                Counts.STORE, QueryableStoreTypes.<String, Long>keyValueStore()));
    Long count = counts.get(key);
    if (count == null) throw new NotFoundException();
    return new Row(key, count);
  }
}
