/* What the Pod of a Job runs on the node: one HTTP request, `job-tool METHOD ADDRESS PORT PATH BODY`. It succeeds where the answer
 * is 2xx. It stands for the command line of an external system; linked statically, it needs nothing but itself in its image. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What an answer begins with where the request was done. */
static const char DONE[] = "HTTP/1.1 2";

int main(int count, char **words) {
  if (count != 6) {
    fprintf(stderr, "usage: job-tool METHOD ADDRESS PORT PATH BODY\n");
    return 2;
  }
  const char *method = words[1], *address = words[2], *port = words[3], *path = words[4], *body = words[5];
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
  int connection = socket(AF_INET, SOCK_STREAM, 0);
  if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || connection < 0 ||
      connect(connection, (struct sockaddr *)&to, sizeof to) != 0) {
    perror("connecting");
    return 1;
  }
  dprintf(connection,
          "%s %s HTTP/1.1\r\nhost: %s:%s\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
          method, path, address, port, strlen(body), body);
  char answer[16] = {0};
  size_t length = 0;
  while (length < sizeof answer - 1) {
    ssize_t more = read(connection, answer + length, sizeof answer - 1 - length);
    if (more <= 0) break;
    length += (size_t)more;
  }
  printf("%s %s: %s\n", method, path, answer);
  return strncmp(answer, DONE, strlen(DONE)) != 0;
}
