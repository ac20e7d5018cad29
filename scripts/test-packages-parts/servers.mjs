/**
 * The Internet of the tests of packages: a DNS server, and a mail server that appends each message to a file.
 *
 *   node servers.mjs ADDRESS DNS MX RECORDS MAIL
 *
 * ADDRESS is that of the tested machine, DNS and MX are those of the two servers. RECORDS is a file with lines `NAME. TYPE VALUE`,
 * as `posthorn setup` prints them: what the operator has published. MAIL gets the messages.
 */
import { createSocket } from 'node:dgram'
import { appendFileSync, readFileSync } from 'node:fs'
import dnsPacket from 'dns-packet'
import { SMTPServer } from 'smtp-server'

const [address = '', dnsAddress = '', mxAddress = '', recordsFile = '', mailFile = ''] = process.argv.slice(2)

const receivers = ['example.test', 'example.com', 'example.org', 'elsewhere.example']
const zone = `
mail.example.test. A ${address}
${address.split('.').reverse().join('.')}.in-addr.arpa. PTR mail.example.test.
${receivers.map((name) => `${name}. MX 10 mx.old-host.test.`).join('\n')}
mx.old-host.test. A ${mxAddress}
gmail.com. MX 5 gmail-smtp-in.l.google.com.
gmail-smtp-in.l.google.com. A ${mxAddress}
`

const withoutDot = (name) => name.replace(/\.$/, '')
const readers = {
  A: (value) => value,
  CNAME: withoutDot,
  PTR: withoutDot,
  MX: (value) => {
    const [preference, exchange] = value.split(' ')
    return { preference: Number(preference), exchange: withoutDot(exchange) }
  },
  // A longer text is published in parts.
  TXT: (value) => JSON.parse(value).match(/.{1,255}/gs),
}

function readRecords() {
  // Some of the records that the operator publishes are there already.
  const lines = new Set(`${zone}${readFileSync(recordsFile, 'utf8')}`.split('\n').map((line) => line.trim()))
  return [...lines].flatMap((line) => {
    const [, name = '', type = '', value = ''] = /^(\S+)\. ([A-Z]+) (.*)$/.exec(line) ?? []
    const data = readers[type]?.(value)
    return data === undefined ? [] : [{ name: name.toLowerCase(), type, ttl: 60, data }]
  })
}

/** The records of the name, or the alias and the records of its target. */
function find(records, name, type) {
  const own = records.filter((record) => record.name === name)
  const alias = own.find((record) => record.type === 'CNAME')
  if (alias === undefined || type === 'CNAME') return own.filter((record) => record.type === type)
  return [alias, ...find(records, alias.data.toLowerCase(), type)]
}

function answer(query) {
  const { id, questions } = dnsPacket.decode(query)
  const { name, type } = questions[0]
  const records = readRecords()
  const isKnown = records.some((record) => `.${record.name}`.endsWith(`.${name.toLowerCase()}`))
  const flags = dnsPacket.RECURSION_DESIRED | dnsPacket.RECURSION_AVAILABLE | (isKnown ? 0 : 3)
  const answers = find(records, name.toLowerCase(), type)
  return dnsPacket.encode({ type: 'response', id, flags, questions, answers })
}

const dns = createSocket('udp4')
dns.on('message', (query, { port, address: from }) => dns.send(answer(query), port, from))
dns.bind(53, dnsAddress)

const receiver = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  onData(stream, _session, done) {
    stream.on('data', (chunk) => appendFileSync(mailFile, chunk))
    stream.on('end', () => done())
  },
})
receiver.listen(25, mxAddress, () => console.log('ready'))
