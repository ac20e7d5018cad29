/** The page of an unsubscribe link in Portuguese. */
import type { UnsubscribeWords } from './unsubscribe-words.js'

export const portuguese: UnsubscribeWords = {
  unknownSender: 'um remetente desconhecido',
  asks: {
    title: 'Cancelar a inscrição?',
    text: {
      mail: 'Recebeu um e-mail de {sender} em {address}. Se cancelar a inscrição, a organização deste remetente não poderá enviar mais e-mails para este endereço através deste servidor, nem mesmo mensagens que pedir.',
      broadcasts:
        'Recebeu um e-mail de {sender} em {address}. Se cancelar a inscrição, este endereço não receberá mais e-mails desta lista. As mensagens que pedir, como um link para uma nova senha, continuarão a chegar.',
    },
  },
  button: 'Cancelar a inscrição',
  ifNothing: 'Se não fizer nada, nada muda.',
  done: {
    title: 'A inscrição está cancelada',
    text: {
      mail: '{address} não receberá mais e-mails de {sender}. Uma mensagem que já está a caminho ainda pode chegar.',
      broadcasts:
        '{address} não receberá mais e-mails desta lista de {sender}. Uma mensagem que já está a caminho ainda pode chegar.',
    },
  },
  doneBefore: {
    title: 'A inscrição já estava cancelada',
    text: {
      mail: '{address} não recebe e-mails de {sender}. Não há mais nada a fazer.',
      broadcasts: '{address} não recebe e-mails desta lista de {sender}. Não há mais nada a fazer.',
    },
  },
  undone: {
    title: 'A inscrição está ativa',
    text: {
      mail: '{address} recebe e-mails de {sender} como antes.',
      broadcasts: '{address} recebe e-mails desta lista de {sender} como antes.',
    },
  },
  stays: {
    title: 'A inscrição continua cancelada',
    text: {
      mail: 'Isto não pode ser desfeito aqui. Para voltar a receber e-mails em {address}, contacte {sender}.',
      broadcasts:
        'Isto não pode ser desfeito aqui. Para voltar a receber e-mails desta lista em {address}, contacte {sender}.',
    },
  },
  mistake: 'Foi um engano? Pode desfazê-lo durante uma hora.',
  undoButton: 'Voltar a inscrever',
  tooLate: 'Isto não pode ser desfeito aqui. Se mudar de ideia, contacte o remetente.',
}
