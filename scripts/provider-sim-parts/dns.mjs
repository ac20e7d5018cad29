// A DNS server on loopback with the MX records of the providers' domains and the addresses of their hosts.
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { decode, encode } from 'dns-packet'
import { providers } from './providers.mjs'

const TTL = 300
const AUTHORITATIVE = 1 << 10

export async function openDns() {
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const { id, questions } = decode(query)
    const answers = questions.flatMap(recordsOf)
    const exists = questions.every(({ name }) => names.has(name.toLowerCase()))
    const flags = AUTHORITATIVE | (exists ? 0 : 3)
    socket.send(encode({ type: 'response', id, flags, questions, answers }), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { port: socket.address().port, close: () => socket.close() }
}

const names = new Set(providers.flatMap(({ domain, hosts }) => [domain, ...hosts]))

function recordsOf({ name, type }) {
  const of = (key) => providers.find(key)
  const owner = of(({ domain }) => domain === name.toLowerCase())
  if (owner !== undefined && type === 'MX') {
    return owner.hosts.map((exchange) => ({ name, type, ttl: TTL, data: { preference: 10, exchange } }))
  }
  const host = of(({ hosts }) => hosts.includes(name.toLowerCase()))
  return host !== undefined && type === 'A' ? [{ name, type, ttl: TTL, data: host.address }] : []
}
