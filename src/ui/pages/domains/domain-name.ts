/** Finds the domain in what a person pastes: the address of a page, or an email address. Pure. */

interface TypedDomain {
  /** Null if the text is the name of a domain as it is. */
  readonly proposal: string | null
  /** The text cannot be the name of a domain. */
  readonly isAddress: boolean
}

/** `https://www.shop.example/cart`, `shop.example:443` and `Ann <ann@shop.example>` are addresses with the domain `shop.example`. */
export function readTypedDomain(typed: string): TypedDomain {
  const text = typed.trim()
  const host = text
    .replaceAll(/[<>"']/g, '')
    .trim()
    .replace(/^(?:[a-z][a-z\d+.-]*:)?\/\/|^mailto:/i, '')
    .replace(/[/?#\\].*$/s, '')
    .replace(/^.*@/s, '')
    .replace(/:\d*$/, '')
    .replace(/\.$/, '')
  const domain = host.replace(/^www\.(?=[^.]+\.)/i, '')
  return { proposal: isName(domain) && domain !== text ? domain : null, isAddress: /[/:@?#\\<>"']/.test(text) }
}

/** Labels with dots between them. The last one is no number, as in the address of a host. */
function isName(domain: string): boolean {
  return /^(?:[\p{L}\p{M}\p{N}_-]+\.)+[\p{L}\p{M}\p{N}-]+$/u.test(domain) && !/\.\d+$/.test(domain)
}
