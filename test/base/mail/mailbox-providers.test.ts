/** Providers are found by MX host and by domain; the list has no name twice. */
import t from 'tap'
import {
  mailboxProviders,
  nameProviderGroup,
  providerGroupOf,
  providerGroupOfHost,
  providerGroups,
  providerOf,
  providerOfDomain,
  providerOfHost,
} from '../../../src/base/mail/mailbox-providers.js'

t.test('a provider is found by the last labels of its MX hosts', (t) => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['gmail-smtp-in.l.google.com', 'google'],
    ['ASPMX2.GoogleMail.com.', 'google'],
    ['example-com.mail.protection.outlook.com', 'microsoft'],
    ['hotmail-com.olc.protection.outlook.com', 'microsoft'],
    ['example-com.k-v1.mx.microsoft', 'microsoft'],
    ['mta5.am0.yahoodns.net', 'yahoo'],
    ['mx1.mail.yahoo.co.jp', 'yahoo-japan'],
    ['mx01.mail.icloud.com', 'apple'],
    ['mailsec.protonmail.ch', 'proton'],
    ['mx00.gmx.net', 'gmx'],
    ['mx-ha02.web.de', 'gmx'],
    ['smtp-in.orange.fr', 'orange'],
    ['mxs.mail.ru', 'mailru'],
    ['inbound-smtp.eu-west-1.amazonaws.com', 'amazon'],
    ['notgoogle.com', null],
    ['google.com.example.org', null],
    ['mx.icloud.com', null],
    ['localhost', null],
    ['constructor', null],
    ['x.__proto__', null],
    ['', null],
    ['.', null],
  ]
  for (const [host, found] of rows) t.equal(providerOfHost(host), found, host)
  t.end()
})

t.test('the host that was called decides; without one the domain does', (t) => {
  t.equal(providerOf({ mx: null, domain: 'gmail.com' }), 'google')
  t.equal(providerOf({ mx: null, domain: 'example.org' }), null)
  t.equal(providerOf({ mx: 'aspmx.l.google.com', domain: 'example.org' }), 'google')
  t.equal(providerOf({ mx: 'smarthost.example.net', domain: 'gmail.com' }), null)
  t.equal(providerOfDomain('WEB.de'), 'gmx')
  t.end()
})

t.test('mail of no known provider has a group of its own, which has a name', (t) => {
  t.equal(providerGroupOf({ mx: 'mx.example.org', domain: 'gmail.com' }), 'other')
  t.equal(providerGroupOf({ mx: null, domain: 'gmail.com' }), 'google')
  t.equal(providerGroupOfHost('mx00.kundenserver.de'), 'ionos')
  t.equal(providerGroupOfHost('mx.example.org'), 'other')
  t.equal(providerGroups.length, mailboxProviders.length + 1)
  t.ok(providerGroups.includes('other'))
  t.equal(nameProviderGroup('google'), 'Google')
  t.equal(nameProviderGroup('other'), 'No known provider')
  t.end()
})

t.test('ids, hosts and domains are unique, in lower case, and no host has more labels than are compared', (t) => {
  const hosts = mailboxProviders.flatMap((provider) => provider.hosts)
  for (const names of [mailboxProviders.map(({ id }) => id), hosts, mailboxProviders.flatMap((one) => one.domains)]) {
    t.equal(new Set(names).size, names.length)
    for (const name of names) t.match(name, /^[a-z0-9]+([.-]+[a-z0-9]+)*$/)
  }
  for (const { id, hosts: own } of mailboxProviders) {
    for (const host of own) t.equal(providerOfHost(`a.b.c.d.${host}`), id, host)
  }
  t.end()
})
