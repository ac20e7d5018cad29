/**
 * The Internet of the tests of packages: a DNS server for example.test on 127.0.0.1:53, and a sink on 127.0.0.1:2600 that
 * appends each message to a file.
 *
 *   node servers.mjs ADDRESS FILE
 */
import { createSocket } from 'node:dgram'
import { appendFileSync } from 'node:fs'
import dnsPacket from 'dns-packet'
import { SMTPServer } from 'smtp-server'

const [address = '', file = ''] = process.argv.slice(2)
const reverse = `${address.split('.').reverse().join('.')}.in-addr.arpa`
const zone = {
  'A mail.example.test': address,
  [`PTR ${reverse}`]: 'mail.example.test',
  'MX example.test': { preference: 10, exchange: 'mx.old-host.test' },
}
const names = new Set(Object.keys(zone).map((key) => key.split(' ')[1]))

function answer(query) {
  const { id, questions } = dnsPacket.decode(query)
  const { name, type } = questions[0]
  const data = zone[`${type} ${name.toLowerCase()}`]
  const rcode = names.has(name.toLowerCase()) ? 0 : 3
  const answers = data === undefined ? [] : [{ name, type, ttl: 60, data }]
  return dnsPacket.encode({ type: 'response', id, flags: rcode | dnsPacket.AUTHORITATIVE_ANSWER, questions, answers })
}

const dns = createSocket('udp4')
dns.on('message', (query, { port, address: from }) => dns.send(answer(query), port, from))
dns.bind(53, '127.0.0.1')

const sink = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, _session, done) {
    stream.on('data', (chunk) => appendFileSync(file, chunk))
    stream.on('end', () => done())
  },
})
sink.listen(2600, '127.0.0.1', () => console.log('ready'))
