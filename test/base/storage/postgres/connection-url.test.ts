/** The URL of a database is read as libpq reads it, and an error never shows the password. */
import t from 'tap'
import { hidePassword, parseConnectionUrl } from '../../../../src/base/storage/postgres/connection-url.js'

t.test('hosts, ports and names', (t) => {
  const full = parseConnectionUrl('postgres://mail%40x:p%3Aw:d@a.test:5433,[2001:db8::1],b.test:1/my%20mail')
  t.same(full.hosts, [
    { host: 'a.test', port: 5433 },
    { host: '2001:db8::1', port: 5432 },
    { host: 'b.test', port: 1 },
  ])
  t.match(full, { user: 'mail@x', password: 'p:w:d', database: 'my mail', tlsMode: undefined })
  const short = parseConnectionUrl('postgresql://')
  t.match(short, { hosts: [{ host: '/var/run/postgresql', port: 5432 }], user: undefined, database: undefined })
  t.same(parseConnectionUrl('postgres://%2Frun%2Fpg:7/mail').hosts, [{ host: '/run/pg', port: 7 }])
  t.end()
})

t.test('parameters', (t) => {
  const url = 'postgres:///?host=/run/pg,b.test&port=1,2&user=u&password=s%26t&dbname=d&sslmode=require'
  const parsed = parseConnectionUrl(`${url}&sslrootcert=/ca.pem&connect_timeout=3&target_session_attrs=read-write`)
  t.same(parsed, {
    hosts: [
      { host: '/run/pg', port: 1 },
      { host: 'b.test', port: 2 },
    ],
    user: 'u',
    password: 's&t',
    database: 'd',
    tlsMode: 'require',
    authorities: '/ca.pem',
    maxConnect: 3_000,
  })
  t.same(
    parseConnectionUrl('postgres://a,b/?port=9').hosts.map(({ port }) => port),
    [9, 9],
  )
  t.end()
})

const faults: readonly (readonly [url: string, message: RegExp])[] = [
  [
    'mysql://a/b',
    /storage\.url: found "mysql:\/\/a\/b", which is no URL of PostgreSQL; allowed: postgres:\/\/USER@HOST/,
  ],
  ['postgres://u:secret@x@a/b', /found "postgres:\/\/u:\*\*\*@a\/b", which is no URL/],
  ['postgres://u:secret/more@a/b', /"postgres:\/\/u:\*\*\*@a\/b", with an @ behind the host; .* encoded as %40/],
  ['postgres://u:secret?more=1@a/b', /with an @ behind the host/],
  ['postgres://u:%zz@a/b', /where a % begins no encoded character/],
  ['postgres://u:secret@a:0/b', /"postgres:\/\/u:\*\*\*@a:0\/b", with the port "0"; allowed: ports from 1 to 65535/],
  ['postgres://a:1:2/b', /with the port "1:2"/],
  ['postgres://a b/c', /with the host "a b"/],
  ['postgres://a/b?sslmode=allow', /with sslmode=allow; allowed: disable, prefer, require, verify-ca, verify-full/],
  ['postgres://a/b?password=secret&colour=1', /\?password=\*\*\*&colour=1", with the parameter colour; allowed: host,/],
  [
    'postgres://a/b?target_session_attrs=standby',
    /with target_session_attrs=standby, .*; allowed: read-write, primary/,
  ],
  ['postgres://a,b,c/d?port=1,2', /with 2 ports for 3 hosts; allowed: one port, or one for each host/],
  ['postgres://a/b?connect_timeout=soon', /with connect_timeout=soon; allowed: seconds from 1 to 999/],
]

t.test('faults name the rule and the cure, and hide the password', (t) => {
  for (const [url, message] of faults) {
    t.throws(() => parseConnectionUrl(url), { name: 'ConnectionSettingsError', key: 'storage.url', message }, url)
    try {
      parseConnectionUrl(url)
    } catch (error) {
      t.notMatch(String(error), /secret/, url)
    }
  }
  t.equal(hidePassword('postgres://u:secret\n@a/b?PASSWORD=x&a=1'), 'postgres://u:***@a/b?PASSWORD=***&a=1')
  t.equal(hidePassword('postgres://u@a:5432/b'), 'postgres://u@a:5432/b')
  t.end()
})
