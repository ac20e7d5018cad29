// A certificate authority and a certificate for one host name, made by openssl for a run and thrown away with its folder.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the files of the authority, the certificate and its key. */
export function createCertificate(folder, name) {
  const [ca, caKey, cert, key, request, extensions] = ['ca.pem', 'ca.key', 'cert.pem', 'key.pem', 'request.pem', 'ext']
    .map((file) => join(folder, file))
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-sha256']
  openssl('req', '-x509', ...curve, '-keyout', caKey, '-out', ca, '-days', '30', '-subj', '/CN=Authority of the scan')
  openssl('req', '-new', ...curve, '-keyout', key, '-out', request, '-subj', `/CN=${name}`)
  writeFileSync(extensions, [
    `subjectAltName=DNS:${name}`,
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    'extendedKeyUsage=serverAuth',
  ].join('\n'))
  const issuer = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-sha256']
  openssl('x509', '-req', '-in', request, '-out', cert, '-days', '60', '-extfile', extensions, ...issuer)
  return { ca, pem: readFileSync(cert, 'utf8') + readFileSync(ca, 'utf8'), key: readFileSync(key, 'utf8') }
}

function openssl(...words) {
  execFileSync('openssl', words, { stdio: ['ignore', 'ignore', 'pipe'] })
}
