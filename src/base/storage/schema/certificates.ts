/** The certificates from an ACME server, and the work to get them, which the daemons of a database share. */

export const certificates = [
  // Our accounts at ACME servers, each found by a hash of the URL of its server.
  `create table acme_accounts (
    directory_key text not null primary key, directory text not null, url text not null,
    private_key text not null) strict, without rowid`,

  // The certificate of each name, with its key.
  `create table acme_certificates (
    name text not null primary key, fingerprint text not null, valid_from integer not null, valid_to integer not null,
    chain text not null, private_key text not null) strict`,

  // The tries to get the certificate of a name: the last ones, the order under way, and which daemon works on it.
  `create table acme_names (
    name text not null primary key, failures integer not null default 0, fault text, tried_at integer,
    next_try_at integer not null default 0, orders text not null default '[]', issued text not null default '[]',
    order_url text, order_account text, order_key text, asked integer not null default 0, leased_by text,
    leased_until integer not null default 0, updated_at integer not null) strict, without rowid`,

  // The answers to challenges over plain HTTP that are under way.
  `create table acme_challenges (
    token text not null primary key, answer text not null, expires_at integer not null) strict, without rowid`,
  // Finds the answers that are still of use, and those that are not.
  'create index acme_challenges_by_end on acme_challenges (expires_at)',
] as const
