/**
 * Checks config/container/kubernetes.yaml as far as no cluster is needed: what refers to something finds it, the ports are those of the
 * configuration, and the configuration in it has no problem.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'
import { parseConfig } from '../../dist/src/base/config/load.js'

const documents = parseAllDocuments(readFileSync('config/container/kubernetes.yaml', 'utf8'), { version: '1.1' })
deepEqual(
  documents.flatMap(({ errors }) => errors),
  [],
)
const objects = documents.map((document) => document.toJS())
const find = (kind, name) =>
  objects.find((one) => one.kind === kind && (name === undefined || one.metadata.name === name))

const { spec } = find('StatefulSet')
const pod = spec.template
const [container] = pod.spec.containers
const labels = pod.metadata.labels

for (const object of objects.filter(({ kind }) => kind !== 'Namespace')) equal(object.metadata.namespace, 'posthorn')
deepEqual(spec.selector.matchLabels, labels)
deepEqual(find('PodDisruptionBudget').spec.selector.matchLabels, labels)
ok(find('Service', spec.serviceName), 'the service of the StatefulSet')
for (const { spec: service } of objects.filter(({ kind }) => kind === 'Service')) {
  deepEqual(service.selector, labels)
  for (const { targetPort } of service.ports)
    ok(
      container.ports.some(({ name }) => name === targetPort),
      targetPort,
    )
}
equal(find('Service', 'posthorn').spec.externalTrafficPolicy, 'Local')
const volumes = [...pod.spec.volumes, ...spec.volumeClaimTemplates.map(({ metadata }) => metadata)]
deepEqual(container.volumeMounts.map(({ name }) => name).sort(), volumes.map(({ name }) => name).sort())
equal(pod.spec.volumes.find(({ secret }) => secret).secret.defaultMode, 0o440)
checkConfiguration(find('ConfigMap').data['posthorn.toml'])

function checkConfiguration(text) {
  const machine = { hostname: 'posthorn-0', home: '/', isRoot: false, stateHome: '/var/lib' }
  const loaded = parseConfig(text, '/etc/posthorn/posthorn.toml', machine)
  deepEqual(loaded.problems ?? [], [])
  const { api, inbound, node, submission, tls } = loaded.config
  equal(node.name, 'posthorn-0')
  const listeners = [api.listen, inbound.listen, submission.listen, submission.listen_tls, tls.acme.http_listen].flat()
  deepEqual(listeners.map(({ port }) => port).sort(), container.ports.map(({ containerPort }) => containerPort).sort())
}
