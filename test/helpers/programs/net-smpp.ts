/** Debian's Net::SMPP as an SMSC: `test/fixtures/net-smpp-smsc.pl`. */
import type { Test } from 'tap'
import { type ChildServer, childServer } from './child-server.js'
import { skipWithoutModule } from './run-program.js'

const PERL = '/usr/bin/perl'

export function skipWithoutNetSmpp(): false | string {
  return skipWithoutModule([PERL, '-MNet::SMPP', '-e', '1'], 'libnet-smpp-perl')
}

/** `before`: its first message gets the next id; hexadecimal. */
export function netSmppServer(t: Test, port: number, before = 'abc0'): Promise<ChildServer> {
  return childServer(t, [PERL, 'test/fixtures/net-smpp-smsc.pl', String(port), before], 'listening')
}
