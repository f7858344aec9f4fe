# What zsh offers for the last word of each line: offers.zsh FOLDER_OF_COMPLETIONS LINE...
# Prints "> LINE" and an offer a line. A second zsh in a terminal of its own is given the line and a tab; its compadd says
# what it would offer.
zmodload zsh/zpty
typeset folder=$1 line= reply= part=
shift

zpty shell zsh -f -i
say() { zpty -w shell $1 }
say 'PROMPT=; RPROMPT=; unsetopt zle_bracketed_paste prompt_cr prompt_sp; stty -echo 2> /dev/null; bindkey -e'
say "fpath=($folder \$fpath); autoload -Uz compinit; compinit -D -u"
say "zstyle ':completion:*' insert-tab false; bindkey '^I' complete-word; LISTMAX=100000"
say 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a offered; builtin compadd -O offered "$@"; local word
  for word in $offered; do print -r -- "OFFER:$word:"; done; builtin compadd "$@"
}'
# Run anew for each completion, since zsh forgets it after one.
say 'end-of-offers() { print OFFERS-END; comppostfuncs=(end-of-offers) }; comppostfuncs=(end-of-offers)'
say 'print READ''Y'
while zpty -r shell part && [[ $part != *READY* ]]; do :; done
for line in "$@"; do
  print -r -- "> $line"
  zpty -w -n shell "$line"$'\t'
  reply=
  while zpty -r shell part; do
    reply+=$part
    [[ $part == *OFFERS-END* ]] && break
  done
  for part in ${(f)reply}; do
    [[ $part == *OFFER:*:* ]] && print -r -- ${${part#*OFFER:}%%:*}
  done
  zpty -w -n shell $'\C-u'
done
zpty -d shell
