// Large messages: one with an attachment, and one with ten signatures, each of another part of its body.
const line = `${Buffer.alloc(57, 'posthorn').toString('base64')}\r\n`

export function plainMessage(size) {
  const head = [
    'From: Somebody <app@load.test>',
    'To: inbox@load.test',
    'Subject: large',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    'A file is attached.',
    '--b',
    'Content-Type: application/zip; name=large.zip',
    'Content-Transfer-Encoding: base64',
    '',
    '',
  ].join('\r\n')
  const tail = '--b--\r\n'
  return Buffer.from(`${head}${line.repeat(Math.floor((size - head.length - tail.length) / line.length))}${tail}`)
}

export function heavySignatures(size) {
  const field = (at) =>
    `DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=stranger.test; s=s; l=${size - 1000 - at}; h=from; bh=AAAA; b=AAAA\r\n`
  const fields = Array.from({ length: 10 }, (_, at) => field(at)).join('')
  return Buffer.concat([Buffer.from(fields), plainMessage(size - fields.length)])
}
