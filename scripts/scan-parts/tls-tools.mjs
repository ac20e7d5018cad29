// sslscan and testssl.sh against one listener, and what of their output is a finding.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from './run-tool.mjs'

const allowedCiphers = /^(?:TLS_AES_|TLS_CHACHA20_|ECDHE-(?:ECDSA|RSA)-(?:AES(?:128|256)-GCM|CHACHA20))/
const allowedGroups = /^(?:x25519|secp256r1|secp384r1|X25519MLKEM768)/i

/** `name`: the host of the certificate. */
export async function scanWithSslscan({ port, starttls }, name, folder) {
  const file = join(folder, `sslscan-${port}-${name}.xml`)
  const words = starttls ? ['--starttls-smtp'] : []
  await runTool('sslscan', [...words, `--sni-name=${name}`, `--xml=${file}`, `127.0.0.1:${port}`])
  const xml = readFileSync(file, 'utf8')
  const finding = (id, texts) => texts.map((text) => ({ id: `sslscan ${id}`, text: `${text} (${name})` }))
  const elements = (tag) => [...xml.matchAll(new RegExp(`<${tag} ([^>]*)/?>`, 'g'))].map(([, text]) => attributes(text))
  const ciphers = elements('cipher')
  const protocols = elements('protocol').filter(({ enabled }) => enabled === '1')
  return [
    ...(ciphers.length === 0 ? finding('cipher', ['none was accepted: the scan did not work']) : []),
    ...finding(
      'protocol',
      protocols.map(({ type, version }) => `${type} ${version}`).filter((one) => !/^tls 1\.[23]$/.test(one)),
    ),
    ...finding(
      'cipher',
      ciphers.map(({ cipher }) => cipher).filter((one) => !allowedCiphers.test(one)),
    ),
    ...finding(
      'group',
      elements('group')
        .map((one) => one.name)
        .filter((one) => !allowedGroups.test(one)),
    ),
    ...finding(
      'compression',
      elements('compression')
        .filter(({ supported }) => supported === '1')
        .map(() => 'is offered'),
    ),
    ...finding(
      'renegotiation',
      elements('renegotiation')
        .filter(isInsecure)
        .map(() => 'is insecure'),
    ),
    ...finding(
      'heartbleed',
      elements('heartbleed')
        .filter(({ vulnerable }) => vulnerable === '1')
        .map(() => 'vulnerable'),
    ),
    ...finding(
      'fallback',
      elements('fallback')
        .filter(({ supported }) => supported !== '1')
        .map(() => 'no SCSV'),
    ),
    ...finding('certificate', namesOf(xml).includes(name) ? [] : [`is for ${namesOf(xml)}`]),
  ]
}

const isInsecure = ({ supported, secure }) => supported === '1' && secure !== '1'
const attributes = (text) =>
  Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
const namesOf = (xml) => /<altnames>(?:<!\[CDATA\[)?([^<\]]*)/.exec(xml)?.[1] ?? ''

/** Everything but the simulation of clients and the list of single ciphers, which sslscan makes. */
const checks = ['-p', '-s', '-f', '-P', '-S', '-U']

/** Severities above what testssl.sh calls OK and INFO. */
const reported = new Set(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL', 'WARN', 'FATAL'])

export async function scanWithTestssl({ port, starttls, path }, { name, ca }, folder) {
  const file = join(folder, `testssl-${port}.json`)
  if (existsSync(file)) rmSync(file)
  const target = starttls
    ? ['--starttls', 'smtp', `${name}:${port}`]
    : [`${path === undefined ? '' : 'https://'}${name}:${port}${path ?? ''}`]
  const how = ['--quiet', '--color', '0', '--nodns', 'none', '--ip', '127.0.0.1', '--warnings', 'off', '--add-ca', ca]
  const header = path === undefined ? [] : ['-h']
  const { text } = await runTool('testssl', [...how, ...checks, ...header, '--jsonfile', file, ...target])
  if (!existsSync(file)) return [{ id: 'testssl', text: `no result: ${text.slice(-300)}` }]
  const results = JSON.parse(readFileSync(file, 'utf8'))
  const found = results.filter(({ severity }) => reported.has(severity))
  const isWhole = results.some(({ id }) => id === 'LUCKY13')
  return [
    ...(isWhole ? [] : [{ id: 'testssl', text: `the scan did not come to its end: ${text.slice(-300)}` }]),
    ...found.map(({ id, severity, finding }) => ({ id: `testssl ${id}`, text: `${severity}: ${finding}` })),
  ]
}
