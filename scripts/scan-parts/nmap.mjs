// The scripts smtp-*, ssl-* and some for HTTP and DNS of nmap, and what of their output is a finding.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hostname } from './daemon.mjs'
import { runTool } from './run-tool.mjs'

const scripts =
  'smtp-*,ssl-*,sslv2*,http-trace,http-methods,http-server-header,dns-recursion,dns-zone-transfer,dns-nsid'
/** Names are guessed in a domain that receives; a relay would take mail for another one. */
const settings = [
  'smtp-enum-users.domain=example.test',
  'smtp-commands.domain=scan.example.org',
  'unpwdb.timelimit=15s',
  'brute.threads=2',
  `tls.servername=${hostname}`,
  `dns-zone-transfer.domain=${hostname}`,
]

/** Output that says that nothing was found, or describes without judging. */
const harmless = {
  'fingerprint-strings': () => true,
  'ssl-cert': () => true,
  'ssl-date': (text) => /does not represent time/.test(text),
  'smtp-open-relay': (text) => /isn't an open relay|doesn't seem to be an open relay/i.test(text),
  'smtp-brute': (text) => /No valid accounts found/.test(text),
  'smtp-enum-users': (text) => /authentication needed/.test(text),
  'smtp-vuln-cve2010-4344': (text) => /NOT VULNERABLE/.test(text),
  'http-methods': (text) => !/Potentially risky|TRACE|CONNECT/.test(text),
  'dns-nsid': (text) => !/version/i.test(text),
}

/** Findings of one port: `{ id, text }`. */
export async function scanWithNmap(port, folder) {
  const file = join(folder, `nmap-${port}.xml`)
  const words = ['-Pn', '-n', '-sT', '-sV', '-p', String(port), '--script', scripts]
  await runTool('nmap', [...words, '--script-args', settings.join(','), '-oX', file, '127.0.0.1'])
  const xml = readFileSync(file, 'utf8')
  if (!/<state state="open"/.test(xml)) return [{ id: 'nmap', text: 'the port is not open' }]
  const outputs = [...xml.matchAll(/<script id="([^"]+)" output="([^"]*)"/g)]
  return outputs.flatMap(([, id, output]) => judge(id, decode(output), port).map((text) => ({ id, text })))
}

function judge(id, text, port) {
  if (id === 'ssl-enum-ciphers') return judgeCiphers(text)
  if (id === 'smtp-commands') return judgeCommands(text, port)
  return harmless[id]?.(text) === true ? [] : [oneLine(text)]
}

function judgeCiphers(text) {
  const versions = [...text.matchAll(/(SSLv\d|TLSv1\.[01]):/g)].map(([, version]) => `${version} is offered`)
  const grades = [...text.matchAll(/(TLS_\S+) (?:\([^)]*\) )?- ([B-F])/g)].map(([, name, grade]) => `${name}: ${grade}`)
  const warnings = /warnings:([\s\S]*?)(?:\n {4}\S|least strength|$)/.exec(text)?.[1]?.trim()
  return [...versions, ...grades, ...(warnings ? [oneLine(warnings)] : [])]
}

/** Before TLS no AUTH; nowhere VRFY, EXPN or ETRN. */
function judgeCommands(text, port) {
  const [offer = ''] = text.split('\n')
  const risky = port === 465 ? /\b(VRFY|EXPN|ETRN|TURN)\b/g : /\b(VRFY|EXPN|ETRN|TURN|AUTH)\b/g
  return [...offer.matchAll(risky)].map(([word]) => `EHLO offers ${word}`)
}

const oneLine = (text) => text.replace(/\s+/g, ' ').trim()
const decode = (text) =>
  text.replace(/&#x([0-9a-f]+);|&#(\d+);|&(lt|gt|amp|quot|apos);/gi, (_, hex, decimal, name) =>
    name === undefined
      ? String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16))
      : { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }[name.toLowerCase()],
  )
