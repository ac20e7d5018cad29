/** Writes programs that send one email: in several languages, with the true addresses of this service. */
import type { components } from '../../api/session-schema.d.ts'

type Endpoints = components['schemas']['Endpoints']

export interface SampleValues {
  readonly endpoints: Endpoints
  /** Null if the page does not know the key. */
  readonly apiKey: string | null
  readonly from: string
  readonly to: string
}

export interface Sample {
  readonly id: string
  readonly title: string
  readonly code: string
}

/** The name under which the samples expect the certificate of the service. */
export const CERTIFICATE_FILE = 'posthorn.pem'
const MISSING_KEY = 'YOUR_API_KEY'
const SUBJECT = 'Hello from Posthorn'
const TEXT = 'It works.'

/** What the languages quote. */
interface Parts {
  readonly url: string
  readonly key: string
  readonly email: Readonly<Record<'from' | 'to' | 'subject' | 'text', string>>
  /** The name of the file that the program must trust. Null if it trusts the service already. */
  readonly trusted: string | null
}

export function writeSamples({ endpoints, apiKey, from, to }: SampleValues): readonly Sample[] {
  const parts: Parts = {
    url: `${endpoints.api_url}/v1/emails`,
    key: apiKey ?? MISSING_KEY,
    email: { from, to, subject: SUBJECT, text: TEXT },
    trusted: endpoints.certificate?.for_api ? CERTIFICATE_FILE : null,
  }
  const [smtp] = endpoints.smtp
  return [
    { id: 'curl', title: 'curl', code: writeCurl(parts) },
    { id: 'node', title: 'Node.js', code: writeNode(parts) },
    { id: 'python', title: 'Python', code: writePython(parts) },
    { id: 'php', title: 'PHP', code: writePhp(parts) },
    ...(smtp === undefined
      ? []
      : [{ id: 'smtp', title: 'SMTP', code: writeSmtp(parts, smtp, endpoints.certificate !== null) }]),
  ]
}

function writeCurl({ url, key, email, trusted }: Parts): string {
  return [
    `curl -sS${trusted === null ? '' : ` --cacert ${trusted}`} ${quoteForShell(url)} \\`,
    `  -H ${quoteForShell(`Authorization: Bearer ${key}`)} \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d ${quoteForShell(JSON.stringify(email, null, 2))}`,
  ].join('\n')
}

function writeNode({ url, key, email, trusted }: Parts): string {
  return [
    `// Save it as send.mjs and run: ${trusted === null ? '' : `NODE_EXTRA_CA_CERTS=${trusted} `}node send.mjs`,
    `const answer = await fetch(${JSON.stringify(url)}, {`,
    `  method: 'POST',`,
    `  headers: {`,
    `    Authorization: ${JSON.stringify(`Bearer ${key}`)},`,
    `    'Content-Type': 'application/json',`,
    `  },`,
    `  body: JSON.stringify({`,
    ...Object.entries(email).map(([name, value]) => `    ${name}: ${JSON.stringify(value)},`),
    `  }),`,
    `})`,
    `console.log(answer.status, await answer.json())`,
  ].join('\n')
}

function writePython({ url, key, email, trusted }: Parts): string {
  return [
    '# Save it as send.py and run: python3 send.py',
    `import json, urllib.request${trusted === null ? '' : ', ssl'}`,
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    '    headers={',
    `        "Authorization": ${JSON.stringify(`Bearer ${key}`)},`,
    '        "Content-Type": "application/json",',
    '    },',
    '    data=json.dumps({',
    ...Object.entries(email).map(([name, value]) => `        "${name}": ${JSON.stringify(value)},`),
    '    }).encode(),',
    ')',
    ...(trusted === null ? [] : [`trust = ssl.create_default_context(cafile="${trusted}")`]),
    `with urllib.request.urlopen(request${trusted === null ? '' : ', context=trust'}) as answer:`,
    '    print(answer.status, json.load(answer))',
  ].join('\n')
}

function writePhp({ url, key, email, trusted }: Parts): string {
  return [
    '<?php // Save it as send.php and run: php send.php',
    `$request = curl_init(${quoteForPhp(url)});`,
    'curl_setopt_array($request, [',
    '    CURLOPT_RETURNTRANSFER => true,',
    ...(trusted === null ? [] : [`    CURLOPT_CAINFO => ${quoteForPhp(trusted)},`]),
    '    CURLOPT_HTTPHEADER => [',
    `        ${quoteForPhp(`Authorization: Bearer ${key}`)},`,
    `        'Content-Type: application/json',`,
    '    ],',
    '    CURLOPT_POSTFIELDS => json_encode([',
    ...Object.entries(email).map(([name, value]) => `        '${name}' => ${quoteForPhp(value)},`),
    '    ]),',
    ']);',
    'echo curl_exec($request) ?: curl_error($request), PHP_EOL;',
  ].join('\n')
}

function writeSmtp(
  { key, email: { from, to, subject, text } }: Parts,
  { host, port, tls }: Endpoints['smtp'][number],
  isSelfSigned: boolean,
): string {
  const message = [`From: ${from}`, `To: ${to}`, `Subject: ${subject}`, '', text]
  return [
    `printf '%s\\r\\n' ${message.map(quoteForShell).join(' ')} |`,
    `  curl -sS${isSelfSigned ? ` --cacert ${CERTIFICATE_FILE}` : ''} --ssl-reqd \\`,
    `  --url ${quoteForShell(`smtp${tls === 'implicit' ? 's' : ''}://${host}:${port}`)} \\`,
    `  --user ${quoteForShell(`posthorn:${key}`)} \\`,
    `  --mail-from ${quoteForShell(from)} --mail-rcpt ${quoteForShell(to)} --upload-file -`,
  ].join('\n')
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function quoteForPhp(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
