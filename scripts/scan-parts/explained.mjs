/**
 * Findings that are no fault, each with its reason. `listener`: where it may appear; `id` and `text`: what it is.
 * An explanation that explains nothing any more fails the scan too, unless it is `rare`.
 */
export const explained = [
  {
    listener: /^mx$/,
    id: 'smtp-enum-users',
    text: /^root admin administrator webadmin sysadmin netadmin guest user web test$/,
    reason:
      'A domain that receives takes mail for every local part: there are no mailboxes whose names an answer could give away. The list is that of the names that were tried.',
  },
  {
    listener: /^api$/,
    id: 'testssl BREACH',
    text: /^MEDIUM: potentially VULNERABLE, (?:br|gzip) HTTP compression detected +- only supplied '\/ui\/' tested/,
    reason:
      'What is compressed are the files of the dashboard, which are the same for every client and hold no secret, and downloads of exports, which repeat nothing of the request. Answers with tokens are never compressed.',
  },
  {
    listener: /^(?:api|mx|submissions?)$/,
    id: 'testssl sessionresumption_ticket',
    text: /^WARN: check failed because of connect problem$/,
    rare: true,
    reason:
      'The connection of testssl.sh with which it tries a ticket breaks off in some runs; openssl s_client resumes sessions of TLS 1.2 and 1.3 at the same listener.',
  },
  {
    listener: /^(?:api|mx|submissions?)$/,
    id: 'testssl engine_problem',
    text: /^WARN: No engine or GOST support via engine with your \/usr\/bin\/openssl$/,
    rare: true,
    reason: 'It is about the openssl with which testssl.sh makes its connections, and not about the listener.',
  },
]
