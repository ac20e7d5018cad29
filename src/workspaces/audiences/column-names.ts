/**
 * The names of columns for the address and the names of a contact, in the languages of the footer of broadcasts.
 *
 * Some names are sure. The others are read so only if no other column of the file has the same meaning: `Adresse` next to
 * `E-Mail` is a street.
 */
import { keysOf } from '../../base/platform/records.js'

export type KnownKind = 'email' | 'first_name' | 'last_name' | 'metadata' | 'none'

const sureNames: Readonly<Record<KnownKind, readonly string[]>> = {
  email: ['email', 'emailaddress', 'mail', 'mailaddress', 'subscriberemail', 'contactemail', 'subscriber'],
  first_name: ['firstname', 'fname', 'givenname', 'forename'],
  last_name: ['lastname', 'lname', 'surname', 'familyname'],
  metadata: ['metadata'],
  none: ['', 'id', 'contactid', 'audienceid', 'createdat', 'updatedat'],
}

const likelyNames = {
  email: [
    ...['emails', 'emailid', 'primaryemail', 'workemail', 'businessemail', 'email1', 'email1value', 'emailaddresses'],
    ...['emailadresse', 'mailadresse', 'adresse', 'elektronischepost'],
    ...['adresseemail', 'adressemail', 'adressedemail', 'adresseelectronique', 'courriel', 'adressecourriel', 'mel'],
    ...['correo', 'correoelectronico', 'direcciondecorreo', 'direcciondecorreoelectronico', 'direcciondeemail'],
    ...['indirizzoemail', 'indirizzodiposta', 'indirizzodipostaelettronica', 'indirizzomail', 'postaelettronica'],
    ...['emailadres', 'mailadres', 'adres', 'elektronischeadres'],
    ...['enderecodeemail', 'enderecoemail', 'correioeletronico', 'correioelectronico'],
    ...['adresemail', 'adresmailowy', 'adrespocztyelektronicznej', 'pocztaelektroniczna', 'mejl'],
  ],
  first_name: [
    ...['first', 'givennames', 'firstnames', 'christianname', 'vorname', 'vornamen', 'rufname', 'prenom', 'prenoms'],
    ...['nombre', 'nombres', 'nombredepila', 'primernombre', 'nome', 'primeironome', 'primonome', 'nomeproprio'],
    ...['voornaam', 'voornamen', 'roepnaam', 'imie', 'imiona'],
  ],
  last_name: [
    ...['last', 'lastnames', 'nachname', 'nachnamen', 'familienname', 'zuname', 'nom', 'nomdefamille'],
    ...['apellido', 'apellidos', 'primerapellido', 'cognome', 'achternaam', 'familienaam', 'apelido', 'apelidos'],
    ...['sobrenome', 'ultimonome', 'nazwisko', 'nazwiska'],
  ],
} as const satisfies Partial<Record<KnownKind, readonly string[]>>

const sureKinds = indexOf(sureNames)
const likelyKinds = indexOf(likelyNames)

function indexOf<Kind extends string>(names: Readonly<Record<Kind, readonly string[]>>): ReadonlyMap<string, Kind> {
  return new Map(keysOf(names).flatMap((kind) => names[kind].map((name) => [name, kind] as const)))
}

/** The meaning of each column of a file. It is undefined for a name that says nothing about it. */
export function findKnownKinds(names: readonly string[]): readonly (KnownKind | undefined)[] {
  const sure = names.map((name) => sureKinds.get(name.toLowerCase().replace(/[\s._-]/g, '')))
  const taken = new Set(sure)
  return names.map((name, at) => {
    const likely = sure[at] === undefined ? likelyKinds.get(squeeze(name)) : undefined
    if (likely === undefined || taken.has(likely)) return sure[at]
    taken.add(likely)
    return likely
  })
}

/** The name without accents, blanks and punctuation, in lower case. */
function squeeze(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[\s._:*()/’'-]/g, '')
}
