/** A port in use: which setting asked for it. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { parseConfig } from '../../../../src/base/config/load.js'
import { explainListenerFault } from '../../../../src/operations/cli/command/listener-fault.js'

function configOf(text: string) {
  const machine = { hostname: 'mail.example.net', home: '/root', isRoot: true, stateHome: undefined }
  const loaded = parseConfig(text, null, machine)
  if (loaded.kind === 'problems') throw new Error(JSON.stringify(loaded.problems))
  return loaded.config
}

t.test('the setting of a listener whose port is in use is named', async (t) => {
  const first = createServer().listen(0, '127.0.0.1')
  t.teardown(() => first.close())
  await once(first, 'listening')
  const bound = first.address()
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0
  const [error] = await once(createServer().listen(port, '127.0.0.1'), 'error')
  for (const [section, key] of [
    [`[api]\nlisten = ["127.0.0.1:${port}"]`, 'api.listen'],
    [`[submission]\nlisten = ["localhost:${port}"]`, 'submission.listen'],
    [`[submission]\nlisten_tls = ["127.0.0.1:${port}"]`, 'submission.listen_tls'],
    [`[inbound]\nlisten = ["[::1]:1", "127.0.0.1:${port}"]`, 'inbound.listen'],
    [`[metrics]\nlisten = ["127.0.0.1:${port}"]`, 'metrics.listen'],
    [`[tls.acme]\nenabled = true\nhttp_listen = ["127.0.0.1:${port}"]`, 'tls.acme.http_listen'],
  ] as const) {
    t.match(explainListenerFault(error, configOf(section)), {
      name: 'CommandFailed',
      message: `${key}: another program listens at 127.0.0.1:${port}; "ss -ltnp sport = :${port}" names it; stop it, or change ${key}`,
    })
  }
  t.equal(explainListenerFault(error, configOf('')), error, 'no setting has the port')
})

t.test('a port of UDP has another command', async (t) => {
  const first = createSocket('udp4').bind(0, '127.0.0.1')
  t.teardown(() => first.close())
  await once(first, 'listening')
  const { port } = first.address()
  const second = createSocket('udp4').bind(port, '127.0.0.1')
  t.teardown(() => second.close())
  const [error] = await once(second, 'error')
  const config = configOf(`[dns]\nzone_listen = ["127.0.0.1:${port}"]\nnameservers = ["ns1.example.net"]`)
  t.match(explainListenerFault(error, config), {
    message: `dns.zone_listen: another program listens at 127.0.0.1:${port}; "ss -lunp sport = :${port}" names it; stop it, or change dns.zone_listen`,
  })
})

t.test('other errors stay as they are', async (t) => {
  const error = new Error('no listener')
  t.equal(explainListenerFault(error, configOf('')), error)
})
