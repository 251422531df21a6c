"""moto's server, with one mistake of its signature check mended: it takes the query of a GET for its body as well."""

import sys

import moto.server
from moto.iam.access_control import IAMRequestBase

create = IAMRequestBase._create_aws_request


def create_aws_request(self):
    if self._method == "GET":
        self._data = None
    return create(self)


IAMRequestBase._create_aws_request = create_aws_request
moto.server.main(sys.argv[1:])
