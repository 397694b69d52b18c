#include "plan/arch.h"
#include "convt_jit/error.h"
namespace convt_jit { Arch parse_arch(std::string_view t){ std::string s(t); if(s.rfind("sm_",0)==0)s=s.substr(3); Arch a; size_t e=0; try{a.number=std::stoi(s,&e);}catch(...){throw LayerError("arch",s,"sm_90");} if(e<s.size()){a.suffix=s[e]; if(e+1<s.size()||(a.suffix!='a'&&a.suffix!='f'))throw LayerError("arch",s,"sm_90");} return a;} std::string to_string(const Arch&a){return "sm_"+std::to_string(a.number)+(a.suffix?std::string(1,a.suffix):"");} }
