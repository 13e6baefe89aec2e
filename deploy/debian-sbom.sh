#!/bin/sh
# Writes the Debian packages of this image as CycloneDX to /usr/share/sbom/debian.cdx.json, beside that of the program's Go modules.
set -eu
mkdir -p /usr/share/sbom
{
	printf '{"bomFormat":"CycloneDX","specVersion":"1.5","version":1,"components":[\n'
	dpkg-query -W -f '{"type":"library","name":"${Package}","version":"${Version}","purl":"pkg:deb/debian/${Package}@${Version}?arch=${Architecture}&distro=bookworm"},\n' |
		sed '$ s/,$//'
	printf ']}\n'
} >/usr/share/sbom/debian.cdx.json
