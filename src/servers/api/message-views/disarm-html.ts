/**
 * Removes from the HTML of messages what makes browsers open a connection before they ask the policy of the document: a
 * frame, and links such as `preconnect`. A connection alone tells the sender that a message is read.
 *
 * The start of each such tag is renamed wherever it stands, also in comments and texts, so that nothing depends on
 * how a browser reads broken markup. Linear.
 */

/** `noframes` is text that is not shown, as the content of `iframe` is; `basefont` is void, as the others are. */
const replacements: Readonly<Record<string, string>> = { iframe: 'noframes', frame: 'basefont', link: 'basefont' }

export function disarmHtml(html: string): string {
  return html.replace(/<(\/?)(iframe|frame|link)(?=[\s/>])/gi, (whole, slash: string, name: string) => {
    const other = replacements[name.toLowerCase()]
    return other === undefined ? whole : `<${slash}${other}`
  })
}
