/** The page of an unsubscribe link in French. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const french: UnsubscribeWords = {
  unknownSender: 'l’expéditeur de ce message',
  asks: {
    title: 'Se désabonner ?',
    text: {
      mail: 'Vous avez reçu un e-mail de {sender} à l’adresse {address}. Si vous vous désabonnez, l’organisation qui se trouve derrière cet expéditeur ne pourra plus envoyer d’e-mails à cette adresse par ce serveur, pas même des messages que vous demandez.',
      broadcasts:
        'Vous avez reçu un e-mail de {sender} à l’adresse {address}. Si vous vous désabonnez, cette adresse ne recevra plus les e-mails de cette liste. Les messages que vous demandez, comme un lien pour un nouveau mot de passe, arriveront toujours.',
    },
  },
  button: 'Se désabonner',
  ifNothing: 'Si vous ne faites rien, rien ne change.',
  done: {
    title: 'Votre désabonnement est fait',
    text: {
      mail: '{address} ne recevra plus d’e-mails de {sender}. Un message déjà en route peut encore arriver.',
      broadcasts:
        '{address} ne recevra plus les e-mails de cette liste de {sender}. Un message déjà en route peut encore arriver.',
    },
  },
  doneBefore: {
    title: 'Votre désabonnement est déjà fait',
    text: {
      mail: '{address} ne reçoit pas d’e-mails de {sender}. Il n’y a plus rien à faire.',
      broadcasts: '{address} ne reçoit pas les e-mails de cette liste de {sender}. Il n’y a plus rien à faire.',
    },
  },
  undone: {
    title: 'Votre abonnement est rétabli',
    text: {
      mail: '{address} reçoit les e-mails de {sender} comme avant.',
      broadcasts: '{address} reçoit les e-mails de cette liste de {sender} comme avant.',
    },
  },
  stays: {
    title: 'Votre désabonnement reste en place',
    text: {
      mail: 'On ne peut pas l’annuler ici. Pour recevoir de nouveau des e-mails à l’adresse {address}, adressez-vous à {sender}.',
      broadcasts:
        'On ne peut pas l’annuler ici. Pour recevoir de nouveau les e-mails de cette liste à l’adresse {address}, adressez-vous à {sender}.',
    },
  },
  mistake: 'Était-ce une erreur ? Vous pouvez l’annuler pendant une heure.',
  undoButton: 'Se réabonner',
  tooLate: 'On ne peut pas l’annuler ici. Si vous changez d’avis, adressez-vous à l’expéditeur.',
}
