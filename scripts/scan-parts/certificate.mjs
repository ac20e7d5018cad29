/**
 * A certificate authority and certificates of it, made by openssl for a run and thrown away with its folder.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-sha256']

/** Returns the file of the authority's certificate, and how to issue others. */
export function createAuthority(folder) {
  const [ca, caKey] = [join(folder, 'ca.pem'), join(folder, 'ca.key')]
  const usage = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign']
  const subject = ['-subj', '/CN=Authority of the scan']
  openssl('req', '-x509', ...newKey, '-keyout', caKey, '-out', ca, '-days', '3650', ...subject, ...usage)
  const issue = (name) => {
    const [cert, key, request, extensions] = ['cert', 'key', 'request', 'extensions'].map((part) =>
      join(folder, `${name}.${part}`),
    )
    openssl('req', '-new', ...newKey, '-keyout', key, '-out', request, '-subj', `/CN=${name}`)
    writeFileSync(extensions, extensionsOf(name))
    const issuer = ['-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-sha256']
    openssl('x509', '-req', '-in', request, '-out', cert, '-days', '90', '-extfile', extensions, ...issuer)
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') + readFileSync(ca, 'utf8') }
  }
  return { ca, issue }
}

/** As public authorities issue them. */
function extensionsOf(name) {
  return [
    `subjectAltName=DNS:${name}`,
    'basicConstraints=critical,CA:FALSE',
    'keyUsage=critical,digitalSignature',
    'extendedKeyUsage=serverAuth',
    'crlDistributionPoints=URI:http://crl.example.test/scan.crl',
  ].join('\n')
}

function openssl(...words) {
  execFileSync('openssl', words, { stdio: ['ignore', 'ignore', 'pipe'] })
}
