/**
 * Compares the settings of an image with what docs/containers.md and the examples promise.
 *
 *   node settings.mjs oci|docker VERSION FILE
 *
 * FILE is what `skopeo inspect --config --raw` has printed.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'

const [format, version, file = ''] = process.argv.slice(2)
const { config, created, os, rootfs } = JSON.parse(readFileSync(file, 'utf8'))

equal(os, 'linux')
equal(rootfs.diff_ids.length, 2, 'one layer of Debian, one of the program')
equal(config.User, '10001:10001')
deepEqual(config.Entrypoint, ['/usr/bin/posthorn'])
deepEqual(config.Cmd, ['serve'])
equal(config.StopSignal, 'SIGTERM')
deepEqual(Object.keys(config.Volumes), ['/var/lib/posthorn'])
const ports = Object.keys(config.ExposedPorts).map((port) => Number(port.split('/')[0]))
deepEqual(
  ports.sort((a, b) => a - b),
  [2465, 2525, 2587, 8080, 8443],
)
ok(config.Env.includes('CREDENTIALS_DIRECTORY=/run/secrets'))
for (const setting of unitSettings()) ok(config.Env.includes(setting), `${setting} of the unit is missing`)
const labels = config.Labels
equal(labels['org.opencontainers.image.version'], version)
equal(labels['org.opencontainers.image.licenses'], 'MIT')
match(labels['org.opencontainers.image.revision'], /^[0-9a-f]{40}$/)
equal(Date.parse(labels['org.opencontainers.image.created']), Date.parse(created))
// The OCI format has no place for it.
deepEqual(config.Healthcheck?.Test, format === 'docker' ? ['CMD', '/usr/bin/posthorn-ready'] : undefined)

/** The settings of memory that systemd's unit has. */
function unitSettings() {
  const unit = readFileSync('systemd/posthorn.service', 'utf8')
  return [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line]) => line.split(' '))
}
