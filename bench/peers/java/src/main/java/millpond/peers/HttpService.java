package millpond.peers;

import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.state.HostInfo;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.glassfish.jersey.jackson.JacksonFeature;
import org.glassfish.jersey.server.ResourceConfig;
import org.glassfish.jersey.servlet.ServletContainer;

/** Jersey on an embedded Jetty, at a free port of loopback, both with their defaults. */
final class HttpService {
  private final Server server = new Server();
  private final ServerConnector connector = new ServerConnector(server);

  /** Takes the port; nobody is answered yet. */
  HttpService() throws Exception {
    connector.setHost("127.0.0.1");
    connector.open();
    server.addConnector(connector);
  }

  String address() {
    return "127.0.0.1:" + connector.getLocalPort();
  }

  /** Begins to answer. Returns the address of the resource. */
  String serve(KafkaStreams streams) throws Exception {
    HostInfo self = new HostInfo("127.0.0.1", connector.getLocalPort());
    ResourceConfig resources = new ResourceConfig();
    resources.register(new PointReads(streams, self));
    resources.register(JacksonFeature.class);
    ServletContextHandler context = new ServletContextHandler();
    context.setContextPath("/");
    context.addServlet(new ServletHolder(new ServletContainer(resources)), "/*");
    server.setHandler(context);
    server.start();
    return "http://" + address() + "/counts/";
  }
}
